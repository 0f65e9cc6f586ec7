"""Words of the story world: heroes, objects, places, names, wishes, fears.

Tables only. A word carries what the plots need to stay consistent: how an animal moves, where it sleeps, what an
object is good for.
"""

# Movement verbs: base, past, -ing.
MOVES = {
    base: (base, past, ing)
    for base, past, ing in [
        ("scurry", "scurried", "scurrying"), ("trot", "trotted", "trotting"), ("hop", "hopped", "hopping"),
        ("waddle", "waddled", "waddling"), ("flutter", "fluttered", "fluttering"), ("fly", "flew", "flying"),
        ("swim", "swam", "swimming"), ("creep", "crept", "creeping"), ("pad", "padded", "padding"),
        ("run", "ran", "running"), ("walk", "walked", "walking"), ("crawl", "crawled", "crawling"),
        ("skip", "skipped", "skipping"), ("wander", "wandered", "wandering"), ("stomp", "stomped", "stomping"),
        ("slither", "slithered", "slithering"), ("paddle", "paddled", "paddling"), ("roll", "rolled", "rolling"),
        ("float", "floated", "floating"), ("swing", "swung", "swinging"), ("gallop", "galloped", "galloping"),
        ("shuffle", "shuffled", "shuffling"), ("buzz", "buzzed", "buzzing"), ("glide", "glided", "gliding"),
    ]
}

# What a body of each kind does while its owner thinks, is glad, or is sad.
GESTURES = {
    "fur": (["twitched {his} whiskers", "scratched {his} ear", "wrinkled {his} nose", "tilted {his} head"],
            ["wagged {his} tail", "jumped up and down", "danced in a circle"],
            ["let {his} ears droop", "hung {his} head", "tucked {his} tail between {his} legs"]),
    "spiny": (["wrinkled {his} nose", "sniffed the air", "tilted {his} head"],
              ["rolled over for joy", "danced on {his} little feet", "hugged {himself}"],
              ["curled up into a ball", "hung {his} head", "sniffled quietly"]),
    "bird": (["tilted {his} head", "blinked {his} round eyes", "hopped from foot to foot"],
             ["flapped {his} wings", "sang a happy little song", "danced on one leg"],
             ["hid {his} head under {his} wing", "let {his} wings droop", "ruffled {his} feathers sadly"]),
    "hoof": (["pricked up {his} ears", "stamped one foot", "blinked {his} big eyes"],
             ["kicked up {his} heels", "tossed {his} head", "jumped for joy"],
             ["hung {his} head", "let {his} ears droop", "gave a long sigh"]),
    "shell": (["poked {his} head out a little further", "blinked slowly", "thought for a long time"],
              ["danced a slow little dance", "smiled from ear to ear", "wiggled with joy"],
              ["pulled {his} head in", "gave a tiny sigh", "hid and said nothing"]),
    "fish": (["blew a few bubbles", "swam in a circle", "blinked {his} big eyes"],
             ["jumped out of the water", "turned a somersault in the waves", "splashed with joy"],
             ["sank down to the sand", "blew one sad bubble", "swam very slowly"]),
    "bug": (["wiggled {his} feelers", "rubbed two legs together", "stood very still"],
            ["danced on a leaf", "turned three circles", "hummed with joy"],
            ["hid under a leaf", "let {his} feelers droop", "sat very still"]),
    "big": (["scratched {his} head", "blinked {his} eyes", "rubbed {his} chin"],
            ["laughed out loud", "danced until the ground shook", "jumped for joy"],
            ["gave a deep sigh", "hung {his} head", "wiped away one big tear"]),
    "person": (["scratched {his} head", "rubbed {his} chin", "raised {his} eyebrows"],
               ["clapped {his} hands", "laughed out loud", "danced around in a circle"],
               ["hung {his} head", "wiped away a tear", "sighed and sat down"]),
}


def _heroes(table):
    """noun | body | move | home | food | habitat | what it is known for (infinitive)"""
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    keys = ("noun", "body", "move", "home", "food", "habitat", "gift")
    return {row[0]: dict(zip(keys, row)) for row in rows}


ANIMALS = _heroes("""
hedgehog|spiny|scurry|burrow under a hedge|berries|wood|roll up into a ball
fox|fur|trot|den under an old oak|blackberries|wood|run fast
rabbit|fur|hop|burrow in the grass|carrots|field|hop high
squirrel|fur|scurry|hollow in a tree|nuts|wood|climb trees
badger|fur|shuffle|den in the hill|roots|wood|dig deep holes
mouse|fur|scurry|hole in the wall|cheese|field|squeeze through small holes
owl|bird|fly|hollow tree|seeds|wood|hoot
deer|hoof|trot|thicket of ferns|clover|wood|leap over logs
bear|big|stomp|cave in the hillside|honey|wood|growl
wolf|fur|run|den among the rocks|soup|wood|howl
mole|fur|crawl|tunnel under the ground|roots|field|dig tunnels
raccoon|fur|creep|hollow log|plums|wood|climb
chipmunk|fur|scurry|nest between two roots|acorns|wood|fill both cheeks
woodpecker|bird|fly|hole in a birch tree|seeds|wood|tap on wood
porcupine|spiny|shuffle|den under a rock|bark and apples|wood|shake sharp spines
skunk|fur|pad|hollow under a log|berries|wood|smell things from far away
robin|bird|flutter|nest in an apple tree|seeds|field|sing
sparrow|bird|flutter|nest under the roof|crumbs|town|chirp
dormouse|fur|creep|nest of moss|hazelnuts|wood|sleep all winter
moose|hoof|walk|clearing in the pines|leaves|wood|wade through deep water
bat|bird|flutter|dark little cave|figs|wood|fly at night
snail|shell|crawl|house on {his} back|lettuce|field|climb up walls
beetle|bug|crawl|crack in the bark|leaves|wood|carry heavy things
ant|bug|scurry|hill of sand|sugar|field|carry heavy things
spider|bug|creep|web in the corner|dew drops|town|spin webs
caterpillar|bug|crawl|curled leaf|green leaves|field|turn into a butterfly
cow|hoof|walk|red barn|sweet hay|farm|moo
pig|hoof|trot|warm sty|turnips|farm|find things with {his} nose
hen|bird|waddle|wooden coop|corn|farm|lay eggs
rooster|bird|walk|wooden coop|corn|farm|crow at sunrise
duck|bird|waddle|nest in the reeds|bread|pond|swim
goose|bird|waddle|nest by the water|grass|farm|honk
horse|hoof|gallop|big stable|oats|farm|gallop
donkey|hoof|trot|old stable|thistles|farm|carry heavy bags
sheep|hoof|walk|green pen|grass|farm|grow warm wool
lamb|hoof|skip|pen full of straw|milk|farm|jump
goat|hoof|trot|shed on the hill|almost anything|farm|climb rocks
dog|fur|run|kennel by the gate|bones|town|bark
puppy|fur|run|basket by the stove|biscuits|town|fetch sticks
cat|fur|pad|basket by the fire|fish|town|purr
kitten|fur|pad|soft cushion|milk|town|catch a ball of wool
pony|hoof|trot|little stable|apples|farm|trot
calf|hoof|skip|barn full of hay|milk|farm|moo
chick|bird|hop|warm nest of straw|crumbs|farm|peep
butterfly|bug|flutter|bush of roses|nectar|field|fly from flower to flower
bee|bug|buzz|golden hive|nectar|field|make honey
ladybird|bug|crawl|leaf of a rose bush|dew drops|field|count {his} spots
grasshopper|bug|hop|tuft of tall grass|clover|field|jump
cricket|bug|hop|crack in the wall|clover|field|play music all night
hare|fur|run|hollow in the field|clover|field|run fast
hamster|fur|scurry|box of soft wool|sunflower seeds|town|run in a wheel
lizard|fur|scurry|warm stone wall|flies|desert|lie in the sun
frog|big|hop|lily pad|flies|pond|jump
toad|big|hop|hole beneath a stone|flies|pond|croak
otter|fur|swim|den in the river bank|fish|pond|slide down muddy banks
beaver|fur|paddle|lodge of sticks|bark|pond|build dams
swan|bird|glide|island of reeds|water plants|pond|swim gracefully
heron|bird|walk|nest above the water|little fish|pond|stand on one leg
turtle|shell|crawl|mud hole by the water|water plants|pond|swim
tortoise|shell|walk|garden behind the wall|lettuce|field|take {his} time
dragonfly|bug|fly|stem of tall reed|dew drops|pond|fly backwards
duckling|bird|waddle|nest in the reeds|bread|pond|swim
fish|fish|swim|garden of water weed|crumbs|pond|swim
whale|fish|swim|deep blue bay|tiny shrimps|sea|sing under the water
dolphin|fish|swim|bay full of waves|fish|sea|leap over the waves
seal|fish|swim|flat warm rock|fish|sea|balance a ball
crab|shell|scurry|hole in the sand|seaweed|sea|walk sideways
octopus|fish|swim|cave of coral|clams|sea|do eight things at once
starfish|shell|crawl|pool between the rocks|seaweed|sea|hold on tight
seahorse|fish|swim|forest of seaweed|tiny shrimps|sea|swim standing up
seagull|bird|fly|nest on the cliff|fish|sea|ride on the wind
pelican|bird|fly|old wooden pier|fish|sea|carry things in {his} beak
walrus|fish|shuffle|shelf of ice|clams|snow|whistle through {his} teeth
puffin|bird|waddle|hole in the cliff|little fish|sea|dive
penguin|bird|waddle|house of snow|fish|snow|slide on {his} belly
polar bear|big|pad|cave of ice|fish|snow|walk over thin ice
reindeer|hoof|trot|stable under the pines|moss|snow|pull a sledge
lion|big|walk|cave in the rocks|stew|savanna|roar
tiger|big|creep|den in the bamboo|stew|jungle|sneak without a sound
elephant|big|stomp|grove of big trees|bananas|savanna|spray water
giraffe|hoof|walk|grove of tall trees|leaves|savanna|reach high places
monkey|fur|swing|nest in the treetops|bananas|jungle|swing from branch to branch
zebra|hoof|gallop|patch of shade|grass|savanna|count {his} stripes
hippo|big|stomp|pool of cool mud|melons|savanna|yawn wide
rhino|big|stomp|patch of thorn bushes|grass|savanna|push hard
parrot|bird|fly|hole in a palm tree|mangoes|jungle|repeat every word
crocodile|big|crawl|sandy river bank|soup|jungle|smile with all {his} teeth
snake|bug|slither|pile of warm stones|eggs|desert|slide without a sound
flamingo|bird|walk|island in the lake|tiny shrimps|savanna|stand on one leg
gorilla|big|walk|nest of leaves|bananas|jungle|beat {his} chest
leopard|big|pad|branch of a big tree|stew|jungle|climb
panda|big|roll|grove of bamboo|bamboo|jungle|eat all day
koala|fur|crawl|fork of a gum tree|leaves|jungle|sleep all day
kangaroo|big|hop|patch of dry grass|grass|desert|jump far
sloth|fur|crawl|branch of a fig tree|leaves|jungle|hang upside down
camel|hoof|walk|tent under the palms|dates|desert|walk for days without water
meerkat|fur|scurry|tunnel in the sand|beetles|desert|stand guard
ostrich|bird|run|nest in the sand|seeds|savanna|run fast
toucan|bird|fly|hole in a tall tree|mangoes|jungle|crack hard nuts
chameleon|fur|creep|branch of a bush|flies|jungle|change colour
llama|hoof|trot|stone hut|grass|mountain|climb steep paths
peacock|bird|walk|corner of a palace garden|seeds|town|open {his} tail like a fan
eagle|bird|glide|nest on a high cliff|fish|mountain|fly above the clouds
""")

PEOPLE = _heroes("""
dragon|big|fly|cave full of warm stones|hot peppers|magic|breathe fire
unicorn|hoof|gallop|glade of silver trees|moon flowers|magic|make a rainbow
robot|person|roll|workshop full of wheels|oil|town|count to a million
fairy|person|flutter|house in a bluebell|nectar|magic|do magic
elf|person|skip|house in a hollow tree|mushroom soup|magic|walk without a sound
giant|big|stomp|castle on a hill|porridge|magic|carry whole trees
gnome|person|shuffle|house under a mushroom|mushroom soup|magic|look after gardens
snowman|big|shuffle|garden full of snow|ice cream|snow|stay cool
mermaid|fish|swim|palace of shells|sea grapes|sea|sing
troll|big|stomp|cave under a bridge|stew|magic|guard the bridge
ghost|person|float|attic of an old house|moonlight|town|walk through walls
wizard|person|wander|tower with a crooked roof|pancakes|magic|do magic
witch|person|fly|cottage with a crooked chimney|pumpkin soup|magic|mix magic drinks
dinosaur|big|stomp|valley of giant ferns|leaves|jungle|roar
knight|person|gallop|castle with four towers|bread and cheese|magic|fight with a sword
princess|person|skip|castle with four towers|strawberries|magic|wear a crown
prince|person|walk|castle with four towers|strawberries|magic|wear a crown
pirate|person|walk|ship with a black flag|coconuts|sea|sail the seas
girl|person|skip|house with a blue door|pancakes|town|climb trees
boy|person|run|house with a green door|pancakes|town|whistle
farmer|person|walk|farmhouse on the hill|potatoes|farm|grow things
baker|person|walk|room above the bakery|fresh bread|town|bake bread
fisherman|person|walk|hut on the beach|fish soup|sea|catch fish
king|person|walk|palace with a golden roof|roast potatoes|magic|give orders
queen|person|walk|palace with a golden roof|cherry tarts|magic|give orders
""")

# More heroes, who live as the one they are like.
_LIKE = {
    "robin": "crow pigeon swallow stork hawk falcon blackbird nightingale canary cuckoo jay finch wren lark",
    "hen": "turkey pheasant quail", "fish": "eel salmon goldfish carp shrimp squid clam",
    "dolphin": "sea-lion manta-ray orca",
    "tiger": "jaguar panther lynx puma", "wolf": "coyote jackal husky", "zebra": "antelope gazelle mustang",
    "cow": "buffalo bull ox", "donkey": "mule", "pig": "boar warthog piglet",
    "monkey": "baboon chimpanzee orangutan lemur",
    "meerkat": "mongoose marmot groundhog gerbil", "mouse": "rat shrew vole guinea-pig",
    "squirrel": "weasel stoat marten opossum",
    "dog": "poodle beagle terrier", "lizard": "iguana salamander newt", "snake": "cobra python worm",
    "crocodile": "alligator",
    "beetle": "centipede scorpion slug cockroach firefly", "bee": "wasp bumblebee mosquito fly hornet",
    "dinosaur": "triceratops stegosaurus mammoth t-rex", "dragon": "phoenix griffin sea-monster",
    "troll": "goblin ogre monster",
    "elf": "leprechaun pixie dwarf imp", "ghost": "alien zombie mummy genie", "wizard": "sorcerer magician",
    "knight": "samurai cowboy",
    "witch": "grandmother old-woman aunt",
    "farmer": "shepherd gardener miller grandfather old-man uncle hunter lumberjack",
    "baker": "cook tailor shoemaker teacher doctor nurse painter scientist inventor musician librarian "
             "postman mayor detective",
    "pirate": "sailor captain", "girl": "sister ballerina little-girl daughter",
    "boy": "brother little-boy son baby toddler",
    "robot": "toy-soldier clown juggler scarecrow teddy-bear doll puppet", "king": "emperor sultan", "queen": "empress",
    "panda": "red-panda armadillo anteater", "cat": "tomcat", "kitten": "lion-cub tiger-cub",
    "bear": "bear-cub grizzly",
}
EXTRA = {noun.replace("-", " ") if noun != "t-rex" else noun: dict({**ANIMALS, **PEOPLE}[like], noun=noun)
         for like, nouns in _LIKE.items() for noun in nouns.split()}

FEMALE = {"grandmother", "old woman", "aunt", "sister", "ballerina", "little girl", "daughter", "empress", "hen",
          "cow", "fairy", "mermaid", "witch", "princess", "girl", "queen"}
MALE = {"grandfather", "old man", "uncle", "brother", "little boy", "son", "emperor", "sultan", "bull", "tomcat",
        "rooster", "wizard", "prince", "boy", "fisherman", "king", "snowman"}

GIRL_NAMES = """Lily Hazel Daisy Poppy Ruby Willow Ivy Rosie Molly Bella Nora Luna Clara Pearl Olive Maple Juniper Tilly
Fern Penny Wren Mabel Flora Ada Sunny Tansy Bonnie Lottie Mina Zoe Lulu Greta Nell Pippa Tess Amber Cora Dotty Elsie
Fay Goldie Hattie Iris Josie Kiki Lola Minnie Nina Opal Petra Queenie Rita Suki Tara Una Vera Winnie Yara Zelda
Anna Mia Emma Sofia Ella Maya Leila Aisha Mei Priya""".split()
BOY_NAMES = """Pip Finn Oscar Toby Max Leo Milo Jasper Rusty Bramble Otto Hugo Felix Barney Benny Teddy Archie Monty \
Basil
Percy Ollie Sam Tom Ben Jack Noah Theo Ned Alfie Barnaby Casper Dexter Ernie Fred George Henry Igor Jonah Kit Louis
Moss Nico Orson Pepper Quincy Rufus Sid Timmy Umber Victor Walter Ziggy Bruno Chester Digby Edgar Freddie Gus Harvey
Ali Omar Ravi Kenji Mateo Luca Emil Anton Paul Peter""".split()

# object -> kind; the kind says what it can be used for
OBJECT_KINDS = {
    "key": ["key"],
    "light": ["lantern", "lamp", "candle", "torch", "crystal", "star", "moonstone", "night light", "flashlight",
        "light bulb", "sparkler", "lava lamp", "glow stick"],
    "sound": ["bell", "whistle", "drum", "flute", "horn", "trumpet", "music box", "guitar", "fiddle", "harp",
        "harmonica", "tambourine", "piano", "accordion", "banjo", "cello", "xylophone", "triangle", "radio", "gong",
        "microphone"],
    "wear": ["hat", "scarf", "cloak", "mitten", "sweater", "boot", "shoe", "cap", "coat", "sock", "glove", "blanket",
        "crown", "cape", "apron", "dress", "jacket", "bow tie", "belt", "slipper", "sandal", "raincoat", "mask",
        "backpack", "handkerchief", "pillow", "towel", "wig", "ribbon"],
    "vessel": ["cup", "basket", "bucket", "jar", "pot", "bowl", "kettle", "bottle", "bag", "watering can", "box",
        "barrel", "pan", "vase", "mug", "glass", "plate", "bathtub", "cauldron", "chest", "treasure chest", "crate",
        "purse", "wallet", "lunch box"],
    "paper": ["map", "letter", "book", "postcard", "note", "diary", "picture", "scroll", "newspaper", "comic",
        "ticket", "recipe", "notebook", "dictionary", "poster", "photograph", "card", "spell book", "envelope"],
    "toy": ["kite", "ball", "toy boat", "doll", "marble", "balloon", "spinning top", "puppet", "puzzle", "swing",
        "hoop", "yo-yo", "teddy bear", "paper plane", "rocking horse", "toy train", "football", "toy car",
        "toy soldier", "snow globe", "frisbee", "boomerang", "scooter", "trampoline", "slide", "dice", "robot toy",
        "tennis ball", "skipping rope"],
    "jewel": ["coin", "ring", "pearl", "gem", "stone", "shell", "necklace", "bead", "button", "ruby", "emerald",
        "diamond", "medal", "bracelet", "brooch", "pebble", "nugget", "sapphire", "amulet", "locket", "badge",
        "trophy", "fossil", "bone", "horseshoe", "snowflake", "crystal ball", "treasure", "earring"],
    "seed": ["seed", "acorn", "bean", "bulb", "pumpkin seed"],
    "egg": ["egg", "dragon egg", "golden egg", "dinosaur egg"],
    "food": ["cake", "pie", "apple", "pear", "cookie", "lollipop", "jar of honey", "loaf of bread", "melon", "peach",
        "muffin", "wheel of cheese", "coconut", "jar of jam", "strawberry", "pizza", "banana", "orange", "lemon",
        "cherry", "mango", "pineapple", "watermelon", "carrot", "potato", "tomato", "mushroom", "pancake", "waffle",
        "doughnut", "cupcake", "chocolate bar", "candy", "biscuit", "pretzel", "pudding", "sausage", "walnut",
        "cheese", "bun", "burger", "grape", "plum", "onion"],
    "tool": ["rope", "ladder", "umbrella", "broom", "shovel", "hammer", "fishing net", "wheel", "paddle", "stick",
        "hook", "wagon", "sledge", "boat", "bicycle", "plank", "axe", "saw", "sword", "shield", "spear", "arrow",
        "net", "needle", "rake", "chain", "magnet", "tent", "raft", "canoe", "car", "truck", "tractor", "motorbike",
        "rocket", "spaceship", "submarine", "balloon basket", "helicopter", "parachute", "ship", "sailboat", "chair",
        "table", "bench", "bed", "door", "screwdriver", "train", "wheelbarrow", "surfboard", "fishing rod",
        "aeroplane"],
    "look": ["mirror", "telescope", "magnifying glass", "spyglass", "pair of glasses", "window", "camera"],
    "write": ["paintbrush", "pencil", "feather", "crayon", "box of paints", "pen"],
    "time": ["clock", "watch", "hourglass", "alarm clock", "pocket watch"],
    "wand": ["wand", "magic carpet", "magic lamp", "magic mirror", "magic stone", "wishing stone", "magic flute"],
}
OBJECT_KINDS["thing"] = """phone telephone computer tablet television machine statue skeleton skull potion flower rose \
tulip sunflower
leaf mushroom tree snowball icicle bar-of-soap toothbrush comb hairbrush sponge battery fan stove fridge toaster \
microwave
thermometer pump ball-of-wool robot time-machine calculator keyboard printer cage chimney nest tooth web toothpick \
vacuum-cleaner
washing-machine piggy-bank football-shirt spaceman treehouse birdhouse cloud rainbow shadow bubble secret pumpkin \
fossil gift
present parcel puddle riddle mystery-box magnet spring gear bone cork""".replace("\n", " ").split()
OBJECT_KINDS["thing"] = [noun.replace("-", " ") for noun in OBJECT_KINDS["thing"]]
OBJECTS = {noun: kind for kind, nouns in OBJECT_KINDS.items() for noun in nouns}

COLOURS = "red blue green yellow golden silver white black purple orange pink brown grey".split()
_LOOKS = "tiny shiny old little small big strange beautiful dusty lovely round bright curious".split()
_MATERIALS = {
    "hard": "silver golden copper wooden glass stone iron brass crystal".split(),
    "soft": "woolly soft warm striped patched velvet silk fluffy".split(),
    "paper": "old yellow folded torn secret forgotten faded".split(),
    "food": "sweet fresh giant big round juicy golden warm".split(),
}
ADJECTIVES = {
    "key": COLOURS + _LOOKS + _MATERIALS["hard"] + ["rusty", "magic", "heavy", "forgotten"],
    "light": COLOURS + _LOOKS + ["glowing", "glass", "magic", "brass", "copper"],
    "sound": COLOURS + _LOOKS + ["wooden", "silver", "golden", "brass", "magic", "broken"],
    "wear": COLOURS + _MATERIALS["soft"] + ["tiny", "old", "big", "magic", "lost"],
    "vessel": COLOURS + _LOOKS + ["wooden", "copper", "broken", "empty", "cracked", "magic"],
    "paper": _MATERIALS["paper"] + ["strange", "magic", "little", "blue", "red", "mysterious", "dusty"],
    "toy": COLOURS + _LOOKS + ["wooden", "broken", "lost", "striped", "painted"],
    "jewel": COLOURS + _LOOKS + ["glowing", "lucky", "magic", "precious", "smooth"],
    "seed": COLOURS + _LOOKS + ["magic", "lonely", "smooth"],
    "egg": COLOURS + _LOOKS + ["speckled", "warm", "lonely", "giant", "spotted"],
    "food": _MATERIALS["food"],
    "tool": COLOURS + ["old", "long", "strong", "wooden", "little", "forgotten", "broken", "strange"],
    "look": _LOOKS + ["silver", "golden", "brass", "broken", "magic", "cracked"],
    "write": COLOURS + _LOOKS + ["magic", "soft", "lost"],
    "time": COLOURS + _LOOKS + ["wooden", "broken", "brass", "magic", "ticking"],
    "wand": ["", "golden", "silver", "old", "tiny", "dusty", "strange", "broken", "blue", "glowing"],
    "thing": COLOURS + _LOOKS + ["magic", "wooden", "broken", "lost"],
}

HERO_ADJECTIVES = """little small young tiny brave shy curious clever gentle lonely kind cheerful sleepy hungry quiet
old clumsy proud grumpy lazy friendly happy sad silly playful forgetful stubborn polite busy fluffy big noisy""".split()

# (preposition, adjectives, noun, habitats, what one sees there)
PLACES = [
    ("in", "deep green quiet old dark", "forest", "wood magic", "the trees whispered in the wind"),
    ("in", "small sunny quiet", "wood", "wood magic", "the ferns grew tall"),
    ("at the edge of", "wide green sunny", "meadow", "field farm wood", "the flowers nodded in the breeze"),
    ("in", "wild sunny green", "meadow", "field", "the grass was full of flowers"),
    ("near", "quiet little round", "pond", "pond field", "the reeds rustled softly"),
    ("beside", "wide slow silver", "river", "pond wood jungle", "the water sang over the stones"),
    ("by", "calm blue clear", "lake", "pond mountain savanna", "the water was as smooth as glass"),
    ("by", "wide blue", "sea", "sea", "the waves rolled in and out"),
    ("on", "small sunny faraway", "island", "sea jungle", "palm trees swayed over the sand"),
    ("on", "long sandy windy", "beach", "sea", "shells lay in the sand"),
    ("on", "little busy sunny", "farm", "farm", "the barn was as red as an apple"),
    ("in", "small sleepy busy", "village", "town farm magic", "smoke curled from every chimney"),
    ("in", "big noisy busy", "city", "town", "the streets were full of people"),
    ("in", "secret wild pretty", "garden", "field town", "roses climbed over the wall"),
    ("in", "green peaceful hidden", "valley", "mountain magic field", "a small stream ran between the hills"),
    ("on", "tall snowy steep", "mountain", "mountain magic", "the clouds passed by like sheep"),
    ("on", "round green windy", "hill", "field mountain magic", "one could see far away"),
    ("in", "hot green steamy", "jungle", "jungle", "big leaves dripped with rain"),
    ("in", "hot golden wide", "desert", "desert", "the sand lay in soft waves"),
    ("in", "cold white snowy", "land of ice", "snow", "the snow sparkled like sugar"),
    ("on", "wide dry golden", "plain", "savanna", "the grass was taller than a child"),
    ("in", "grand old stone", "castle", "magic", "flags flew on every tower"),
    ("in", "tiny crooked old", "cottage", "town magic", "ivy grew around the windows"),
    ("in", "dark deep cool", "cave", "magic mountain", "drops of water fell from the roof"),
    ("at", "sunny old noisy", "harbour", "sea town", "boats rocked on the water"),
    ("in", "lively green pretty", "park", "town", "ducks swam on a small lake"),
    ("in", "little dusty old", "toy shop", "town", "dolls sat in long rows"),
    ("in", "big quiet old", "library", "town", "the shelves reached up to the ceiling"),
    ("in", "warm busy little", "bakery", "town", "everything smelled of bread"),
    ("under", "old wooden stone", "bridge", "magic pond town", "the water splashed softly"),
    ("behind", "roaring high silver", "waterfall", "mountain jungle magic", "the spray made small rainbows"),
    ("on", "faraway quiet bright", "moon", "space", "everything was silver and still"),
    ("in", "tall white lonely", "lighthouse", "sea", "the lamp turned all night"),
    ("at", "small busy dusty", "railway station", "town", "trains came and went"),
    ("in", "juicy sweet old", "orchard", "farm field", "the branches were heavy with apples"),
]

SKILLS = ["sing", "dance", "swim", "fly", "paint", "bake bread", "play the drum", "whistle", "juggle", "climb trees",
          "read", "write", "skate", "tell jokes", "play the flute", "cook soup", "ride a bicycle", "jump rope", "knit",
          "draw", "catch a ball", "count to one hundred", "dive", "make pancakes", "tie a knot", "stand on one leg",
          "tell stories", "build boats", "do a handstand", "roller skate", "play the piano", "spell {his} own name",
          "tell the time", "sail a boat", "do magic tricks", "speak to the stars", "grow flowers", "fly a kite"]
ROLES = ["pilot", "doctor", "teacher", "cook", "sailor", "painter", "singer", "king", "knight", "gardener", "detective",
         "postman", "dancer", "captain", "baker", "inventor", "astronaut", "firefighter", "clown", "musician", "writer",
         "explorer", "librarian", "hero", "magician", "train driver", "queen", "star", "pirate", "football player"]
GOALS = ["see the sea", "visit the moon", "touch a cloud", "see the snow", "find the end of the rainbow",
         "climb the highest mountain", "see the sunrise from the top of the hill", "cross the wide river",
         "see the city lights", "find the oldest tree", "catch a falling star", "meet a dragon",
         "hear the song of the whales", "visit {his} grandmother", "find the end of the river",
         "see the great lighthouse",
         "sleep under the stars", "reach the island", "meet the queen", "see the big desert",
         "count all the stars"]
FEARS = {
    "the dark": ("the lights went out", "dark"), "thunder": ("a storm came up", "loud"),
    "water": ("the stream rose high", "wet"), "heights": ("a kite got stuck high in a tree", "high"),
    "loud noises": ("a great crash came from the hill", "loud"), "the wind": ("a wild wind began to blow", "windy"),
    "strangers": ("somebody new knocked at the door", "strange"), "shadows": ("the moon made long shadows", "dark"),
    "bridges": ("the only way led over a bridge", "high"), "spiders": ("a spider got caught in a glass", "strange"),
    "the night": ("night came early", "dark"), "deep snow": ("the snow fell all day", "cold"),
    "ghosts": ("something white moved in the garden", "strange"), "fire": ("a candle fell over", "hot"),
    "the rain": ("the rain poured down", "wet"), "speaking in front of others": ("the teacher fell ill", "loud"),
    "the sea": ("a boat floated away", "wet"), "big dogs": ("a big dog stood at the gate", "strange"),
}

NATURE = ["sunny", "windy", "rainy", "misty", "frosty", "warm", "bright", "cloudy", "golden", "cold", "snowy", "quiet"]
SPOTS = ["under a leaf", "between two stones", "in the tall grass", "behind an old log", "under a bush", "in a puddle",
         "beside the path", "at the foot of a tree", "half buried in the sand", "in a pile of leaves",
         "on a flat rock", "near the gate", "by the water", "at the bottom of the stairs", "under a bench",
         "in a hollow tree", "on the window sill", "behind the old wall"]
WATER_SPOTS = ["between two rocks", "half buried in the sand", "in a bed of seaweed", "inside an old shell",
               "under a piece of driftwood", "in a little pool", "beside an old anchor"]
DISHES = ["pancakes", "apple pie", "vegetable soup", "warm bread", "honey cakes", "hot chocolate", "berry jam",
          "cherry tarts", "ginger biscuits", "plum cake", "mint tea", "pumpkin soup"]

# Parts of invented words: they teach the model to copy a word that it has never seen.
ONSETS = ("b bl br c ch cl cr d dr f fl fr g gl gr h j k kn l m n p pl pr qu r s sc sh sk sl sm sn sp st str sw t "
          "th tr tw v w wh y z").split() + ["", "", ""]
VOWELS = "a a a e e e i i i o o o u u y ai au ea ee ie oa oo ou oi".split()
CODAS = ("b ck d f ft g l ld lk ll lt m mp n nd ng nk nt p r rd rk rm rn rt s sh sk ss st t tch th x z".split()
         + [""] * 24)
ENDINGS = ("a e o y er el le in on en us um ix ant ent ette ine ile ish ion ator ard ow ock ing ist ling let ster ton "
           "phone scope graph case board stick ball boat bird bat fish horse pot bag box cup cake wood "
           "house line").split()
