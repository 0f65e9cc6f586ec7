"""Sentences that many plots share, and what each kind of object is good for.

The little language: `[a|b]` chooses, `{slot}` is filled from the story's state (`{Slot}` with a capital letter), a line
is one variant of its beat. Hero: h, he, him, his, himself. Friend: f, fhe, fhim, fhis. Third one: g. Object: o.
"""

OPEN = """
Once upon a time, there was {a_h} who lived {where}.
Once upon a time, {place}, there lived {a_h}.
Once upon a time, there lived {a_h}. {His} home was {a_home} {place}, where {place_detail}.
Once upon a time, {a_h} lived {where}. {He} [liked|loved] {food} more than anything else.
Once upon a time, in {a_home}, there lived {a_h}.
Once upon a time, there was {a_h}. {Everybody} {place_at} knew {him}, because {he} was so \
[friendly|curious|cheerful|kind].
Once upon a time, {place}, where {place_detail}, there was {a_h}.
Once there was {a_h} who lived {where}.
There was once {a_h} who lived {where} and [loved {food}|never hurried|always had a question|smiled at everyone].
Long ago, [when the hills were young|before anyone had a clock|in a time of stories], {a_h} lived {where}.
Long, long ago, there lived {a_h} {place}.
{Place}, where {place_detail}, lived {a_h}.
Far away, {place}, lived {a_h}.
Not so long ago, {a_h} lived {where}.
This is the story of {a_h} who lived {where}.
Have you ever heard of {a_h2} who lived {where}? This is {his} story.
{A_h} lived {where}. {He} was known for being [kind|curious|a little forgetful|cheerful|a good listener].
[Somewhere|Far from here], {place}, there was {a_home}, and in it lived {a_h}.
Right in the middle of nowhere, {place}, {a_h} had made {his} home.
Every [child|animal|bird] {place_at} knew {a_h2}. {He} lived [not far from the old bridge|all alone|at the end of the \
path].
"""

# Only when the hero has a name.
OPEN_NAMED = """
{Name} was {a_plain_h} who lived {where}.
{Name} was {a_plain_h}. {He} lived {where}, and {he} [loved {food}|was never bored|liked every kind of weather].
{Place} lived {a_plain_h}. {His} name was {name}.
Once upon a time, there was {a_plain_h}. {His} name was {name}, and {he} lived {where}.
Once there lived {a_plain_h} {place}. {Everybody} called {him} {name}.
{Name} the {kind} lived {where}.
Once upon a time, {name} the {kind} lived {where}.
"""

TRAIT = """
{h} [could|knew how to] {gift}, and {he} was [very|quite] proud of it.
[Every morning|Each day], {h} ate {food} and [watched the clouds|listened to the birds|looked for something new].
{He} liked {food}, [long walks|warm evenings|quiet mornings] and [good stories|kind words|funny songs].
{He} had [a kind heart|a big heart|a head full of ideas|many questions|a good nose for adventure].
{h} was not very [big|strong|fast|loud], but {he} was [clever|kind|brave when it mattered|never unkind].
[Nothing|Hardly anything] ever happened there, and {h} [did not mind|sometimes wished that it would].
{h} had [two good friends|many friends|one good friend], but [no one to play with that day|everyone was busy that day].
"""

DAY = """
One {weather} morning,
One {weather} afternoon,
One {weather} day,
One day,
One evening, just before sunset,
Early one morning,
On a {weather} day in [spring|summer|autumn],
After breakfast one day,
On the [first|last] day of [spring|summer|autumn|the holidays],
When the rain had stopped,
"""

FIND = """
{Day} {h} [was {mving} along|was looking for {food}] when {he} [saw|noticed|spotted|found] {a_o} {spot}.
{Day} {h} {mv} [past the old wall|along {his} favourite path|a little further than usual]. There, {spot}, lay {a_o}.
{Day} {h} [stumbled over|bumped into|almost stepped on] something {spot}. It was {a_o}!
{Day} {h} [saw something|noticed something odd] {spot}. {He} {mv} closer and found {a_o}.
{Day} {h} was looking for {food}. [Instead, {spot}|But what {he} found was no food at all: {spot}] {he} found {a_o}.
{Day} something [caught the light|made {him} stop] {spot}. "What is that?" said {h}. It was {a_o}.
{Day} the wind blew the leaves aside, and there, {spot}, was {a_o}. {h} [could hardly believe it|stared at it].
{Day} {h} [{mv} out to find {food}|went for a walk]. {Spot} {he} found {a_o}, and nobody was near.
"Oh!" cried {h}. {Day} {he} had found {a_o} {spot}.
"""

WONDER = """
"How [wonderful|strange|lovely]!" {he} said. {look} [{h} {think}.|]
{look} {h} {think} and looked at it from all sides.
{h} [picked it up|touched it] very carefully. {look}
{h} had never seen anything like it. {look}
"Who could have left you here?" {h} asked {the_o}. [Of course, it did not answer.|But it said nothing.]
{h} {think}. "I have never had {a_o} before," {he} [said|whispered].
{look} "[What a find|What luck|My lucky day]!" said {h}.
"""

# One more line for a find, by kind of object.
LOOK = {
    "key": ["It was heavy and cool.", "It had a tiny heart on one end.", "There was no door anywhere near.",
            "It must belong to a lock, but which one?", "A thin thread hung from it."],
    "light": ["It gave a soft glow.", "It shone like a little sun.", "It was still warm.", "It lit up the whole path."],
    "sound": ["When the wind touched it, it made a small sound.", "It looked as if it wanted to be played.",
              "It was quiet now, but it must have a voice.", "It gave one clear note."],
    "wear": ["It was soft and warm.", "It was much too big for {him}.", "It smelled of [lavender|soap|smoke|flowers].",
             "There was a small hole in it, but it was still fine.", "It fitted {him} almost perfectly."],
    "vessel": ["It was empty.", "It had a tiny crack, but it looked strong.", "There was a flower painted on it.",
               "A drop of rain water shone inside."],
    "paper": ["There were small, neat letters on it.", "One corner was torn.", "It smelled of salt and far places.",
              "Someone had drawn a tiny heart on it."],
    "toy": ["It looked as if someone had played with it every day.", "It was a little scratched, but it still worked.",
            "It seemed to ask for a game.", "There was a name on it, but the rain had washed it away."],
    "jewel": ["It sparkled in the light.", "It was as smooth as ice.", "It shone like a drop of sun.",
              "It was small, but it shone brightly."],
    "seed": ["It was no bigger than a crumb.", "It was smooth and warm.", "It looked as if it was asleep."],
    "egg": ["It was still warm.", "Something moved inside it.", "It was all alone, with no nest in sight."],
    "food": ["It smelled wonderful.", "It looked delicious.", "It was big enough for three."],
    "tool": ["It looked useful.", "It was old, but it was still good.", "Someone must have worked hard with it."],
    "look": ["{He} could see {his} own nose in it.", "It had a little dust on it.", "The sky was shining in it."],
    "write": ["It was as light as air.", "There was still a little colour on it.", "It tickled when {he} touched it."],
    "time": ["It went tick, tock, tick, tock.", "Its hands pointed to twelve.", "It had stopped long ago."],
    "wand": ["It hummed very softly.", "Little sparks danced around it.", "It felt warm, as if it was alive."],
    "thing": ["It was very odd.", "{He} did not know what it was for.", "It looked quite new.",
              "It was not at all what {he} had expected."],
}

# The wrong ways to use it: tried before the right one is found.
TRY = {
    "key": ["{He} tried it on a nut, but the nut stayed shut.",
            "{He} used it to comb {himself}, but that only tickled."],
    "light": ["{He} tried to use it as a pillow, but it was far too bright.", "{He} hung it over {his} supper."],
    "sound": ["{He} used it as a chair, but it squeaked.", "{He} hid it, but it made a sound each time the wind blew."],
    "wear": ["{He} tried it as a sail, but it only flapped.",
             "{He} tried to wear it upside down, but then {he} saw nothing."],
    "vessel": ["{He} wore it on {his} head, but it slipped over {his} eyes.",
               "{He} tried to sleep in it, but it rolled over."],
    "paper": ["{He} tried to read it upside down.", "{He} folded it into a little hat, but the wind took it off."],
    "toy": ["{He} tried to eat it, but it tasted of nothing.", "{He} put it on a shelf, but it only looked sad there."],
    "jewel": ["{He} tried to bite it. Ouch! It was hard.", "{He} put it on {his} nose, but it rolled off."],
    "seed": ["{He} shook it, but it made no sound."], "egg": ["{He} knocked on it, and something knocked back."],
    "food": ["{He} looked at it for a long time without taking a bite."],
    "tool": ["{He} tried to dance with it, but it got in the way.", "{He} leaned it on the wall, but it fell over."],
    "look": ["{He} tried to talk to it, but it only looked back.", "{He} made funny faces in front of it all morning."],
    "write": ["{He} tickled {his} own nose with it and sneezed three times.", "{He} used it to stir {his} soup."],
    "time": ["{He} tried to feed it, but it only said tick, tock.",
             "{He} put it under {his} pillow, but it was too loud."],
    "wand": ["{He} waved it, and a [frog|leaf|cup] turned blue.", "{He} waved it, but nothing happened at all."],
    "thing": ["{He} sat on it, but that was not right.", "{He} shook it, but nothing came out.",
              "{He} put it on {his} head, but it fell off."],
}

# Trouble, and how the object ends it: (what happens, what the hero does). f is in trouble or brings the news.
USES = {
    "key": [
        ("[That evening|The next day], {f} came running. \"The gate has fallen shut, and my little ones are "
         "behind it!\" {fhe} cried.",
         "{h} put {the_o} into the lock. It turned with a click, and the gate swung open."),
        ("On the way home, {he} heard a small voice. {a_f} was locked in [a shed|an old tower|a cage].",
         "\"Wait!\" said {h}. {He} tried {the_o}. Click! The door opened, and {f} was free."),
        ("[Just then|A little later], {h} met {a_f}, who sat in front of a locked door. "
         "\"I have lost my way in,\" {fhe} said.",
         "{h} held up {the_o}. It fitted! The door opened, and warm light fell on them both."),
    ],
    "light": [
        ("That night a thick fog came. {f} had not come home, and nobody could see a thing.",
         "{h} held {the_o} up high. \"Over here!\" {he} called. {f} saw the light and followed it home."),
        ("When it got dark, {h} heard someone crying. {a_f} had lost {fhis} way.",
         "\"Follow me,\" said {h}, and {he} carried {the_o} ahead of {f}, all the way to {fhis} door."),
        ("[Suddenly|That evening] all the lamps went out, and the little ones were afraid.",
         "{h} put {the_o} in the middle of the room. {f} told a story, and soon everyone smiled again."),
    ],
    "sound": [
        ("A thick mist rolled in, and {f} was lost in it.",
         "{h} played {the_o} as loudly as {he} could. {f} heard it and followed the sound home."),
        ("That night, {h} saw smoke. Everyone was asleep!",
         "{h} made such a noise with {the_o} that everyone woke up. Together with {f}, they put out the fire."),
        ("At the party, nobody danced. {f} looked very bored.",
         "Then {h} began to play {the_o}. First {f} tapped one foot, and soon everyone was dancing."),
    ],
    "wear": [
        ("Then it began to snow. On the way home {h} met {a_f}, who was shaking with cold.",
         "\"Take this,\" said {h}, and {he} wrapped {f} up in {the_o}. Soon {fhe} was as warm as toast."),
        ("Suddenly, {he} heard a cry. {f} was hanging from a branch!",
         "{h} quickly held out {the_o}. {f} grabbed the other end, and {h} pulled {fhim} to safety."),
        ("{f} sat at home and did not want to come to the party. \"I have nothing nice to wear,\" {fhe} said.",
         "\"Then you shall have {the_o},\" said {h}. {f} put it on and was the finest guest of all."),
    ],
    "vessel": [
        ("That summer it did not rain. {f} looked at {fhis} poor flowers and almost cried.",
         "So {h} filled {the_o} with water from the stream, again and again, until the flowers stood up tall."),
        ("Then {he} heard a cry for help. {f} sat in the middle of the water and could not swim.",
         "{h} pushed {the_o} into the water. {f} climbed in and floated back like a little captain."),
        ("{f} had picked a whole hill of berries but could not carry them home.",
         "\"Put them in here,\" said {h}, and {he} held out {the_o}. Not one berry was lost."),
    ],
    "paper": [
        ("{f} had been looking for the way home all day. \"I shall never find it,\" {fhe} sighed.",
         "{h} looked at {the_o} again. There was a small drawing of the path on it! Together they found the way."),
        ("That evening {f} was ill in bed and very bored.",
         "So {h} sat down and read to {fhim} from {the_o}, until {f} laughed again."),
        ("Then {a_f} came by with red eyes. \"I have lost the words of my grandmother,\" {fhe} said.",
         "{h} showed {fhim} {the_o}. \"That is it!\" cried {f}, and {fhe} read every word aloud."),
    ],
    "toy": [
        ("On the way home, {he} met {a_f}, who sat all alone and did not smile.",
         "\"Do you want to play?\" asked {h}, and {he} held out {the_o}. They played until the sun went down."),
        ("{f} had to stay in bed with a cold and was very sad.",
         "{h} brought {the_o} to {fhis} window. What a game that was! {f} laughed so much that {fhe} "
         "forgot {fhis} cold."),
        ("{f} had just moved in next door and knew nobody.",
         "{h} carried {the_o} over to {fhim}. \"I cannot play with it alone,\" {he} said. So they played together."),
    ],
    "jewel": [
        ("Then {h} met {a_f}, who had nothing for {fhis} mother's birthday.",
         "{h} looked at {the_o} one last time. Then {he} gave it to {f}. \"Now you have a present,\" {he} said."),
        ("On the way {he} met {a_f}, who had dropped {fhis} money in the river and could buy no bread.",
         "{h} swapped {the_o} for a big basket of bread, and everybody had enough to eat."),
        ("That night {f} could not find the path in the dark.",
         "But {the_o} shone in the moonlight. {h} held it up, and {f} came straight to {him}."),
    ],
    "tool": [
        ("Suddenly {h} heard a cry. {f} had fallen into a deep hole!",
         "\"Hold on!\" called {h}. {He} pushed {the_o} down into the hole, and {f} climbed out."),
        ("After the storm, the little bridge was gone, and {f} could not get home.",
         "{h} looked at the water, and then at {the_o}. Soon {he} had found a way across, and {f} was safe."),
        ("{f} was trying to mend {fhis} roof before the rain, but nothing worked.",
         "\"Perhaps this will help,\" said {h}, and fetched {the_o}. Together they finished just before the "
         "first drop fell."),
    ],
    "look": [
        ("{f} could not find {fhis} little brother anywhere.",
         "{h} looked through {the_o}, far over the hills. \"There he is!\" {he} cried. {f} ran to fetch him."),
        ("{f} thought that {fhe} was ugly, and hid all day.",
         "{h} showed {fhim} {the_o}. \"Look, that is my best friend,\" {he} said, and {f} had to smile."),
        ("That night, {f} was lost on the other side of the water.",
         "{h} caught the moonlight with {the_o} and made it flash. {f} saw it and came home."),
    ],
    "write": [
        ("{f} was sad because all {fhis} flowers had faded.",
         "So {h} took {the_o} and made a picture of a whole garden. It never faded."),
        ("{f} had moved far away, and {h} missed {fhim}.",
         "{h} used {the_o} to write a long letter. A week later {f} stood at the door."),
        ("Nobody knew that the bridge was broken. {f} almost fell into the water!",
         "So {h} took {the_o} and made a big sign. After that nobody fell in."),
    ],
    "time": [
        ("{f} was always late. {Fhe} missed breakfast, lunch and even {fhis} own birthday.",
         "{h} gave {f} {the_o}. The next day {fhe} came on time, for the first time in {fhis} life."),
        ("The rooster was ill, and nobody woke up in the morning. {f} missed {fhis} boat.",
         "So {h} put {the_o} on the hill. The next morning everyone was awake, and {f} caught the boat."),
    ],
    "wand": [
        ("Then {a_f} came by in tears. {Fhis} house had been blown away by the wind.",
         "{h} held {the_o} and wished with all {his} heart. There was a flash, and a new little house stood there."),
        ("That summer, no rain fell, and {f} had nothing to drink.",
         "{h} did not wish for gold. {He} took {the_o} and wished for rain, and soft drops began to fall."),
    ],
    "thing": [
        ("Then {h} met {a_f}, who was looking for something. \"I cannot finish my work,\" {fhe} said.",
         "{h} showed {fhim} {the_o}. \"That is just what I need!\" cried {f}, and together they finished the work."),
        ("On the way home, {he} saw {a_f}, who looked very sad.",
         "\"Look what I have,\" said {h}, and {he} held up {the_o}. {f} began to smile, and soon {fhe} was laughing."),
        ("Suddenly {h} heard a cry. {f} was stuck between two rocks!",
         "{h} pushed {the_o} into the gap and pulled. Pop! {f} was free."),
    ],
}
USES["food"] = [
    ("{h} wanted to eat it all. Then {a_f} came by, and {fhis} stomach growled.",
     "\"Sit down,\" said {h}, and {he} cut {the_o} in half. It tasted twice as good that way."),
    ("On the path sat {a_f}, who had not eaten all day.",
     "{h} looked at {the_o} and then at {f}. \"Half for you, half for me,\" {he} said, and {f} smiled."),
]
USES["seed"] = [
    ("{h} planted it by the door. Soon {a_f} laughed at {him}. \"Nothing will ever grow there,\" {fhe} said.",
     "But {h} gave {the_o} water every day. A green tip came up, and one morning there was a flower as tall as {f}."),
]
USES["egg"] = [
    ("{h} kept {the_o} warm all night. In the morning {a_f} came by, crying. \"I have lost my egg!\" {fhe} called.",
     "\"It is here,\" said {h}, \"safe and warm.\" Crack! Just then a small beak came out, and {f} cried for joy."),
]

# How the object stays in the hero's life; the last lines look back to it.
KEEP = {
    "key": ["{h} hung {the_o} on a nail by the door.", "{h} wore {the_o} on a string from that day on."],
    "light": ["Every night, {the_o} shone in {his} window.", "{h} never had to walk home in the dark again."],
    "sound": ["On warm evenings one can still hear {h} play {the_o}.",
              "And whenever {h} plays {the_o}, everybody sings."],
    "wear": ["{h} wore {the_o} every day, even in bed.", "And when winter came, {the_o} was big enough for two."],
    "vessel": ["From then on, {the_o} was always full of flowers.", "{The_o} stood on the table, filled with {food}."],
    "paper": ["{h} kept {the_o} under {his} pillow.", "{The_o} still hangs on the wall, where everyone can see it."],
    "toy": ["And {the_o} was never lonely again.", "After that, they played with {the_o} every afternoon."],
    "jewel": ["{The_o} sparkled in {his} window for everyone to see.",
              "{The_o} was small, but the joy it brought was big."],
    "seed": ["And it all began with {a_o}."], "egg": ["And it all began with {a_o}."],
    "food": ["{h} never forgot the taste of {the_o}.", "And of {the_o}, not even a crumb was left."],
    "tool": ["{The_o} leaned by the door, ready for the next friend in need.", "{h} lent {the_o} to anyone who asked."],
    "look": ["{The_o} hung by the window, and {h} looked into it every morning.",
             "And {the_o} showed a very happy face."],
    "write": ["{h} kept {the_o} for all the stories still to come.", "And with {the_o} {h} wrote down this story."],
    "time": ["Tick, tock, said {the_o}, and all was well.", "And {the_o} told {h} when it was time for tea."],
    "wand": ["{h} put {the_o} away, for {he} had all {he} wanted.",
             "And {the_o} slept in its box until it was needed."],
    "thing": ["{h} kept {the_o} close for ever after.", "And {the_o} got the best place in the house."],
}

MORAL = """
"[A treasure|A good thing] is twice as nice when it helps a friend," said {h}. {keep}
From that day on, {h} and {f} were [the best of friends|good friends|friends for life].
That night, {h} lay in bed and smiled. {keep}
{keep} And {h} and {f} [often laughed about it|never forgot that day|stayed friends for ever].
{keep}
And that is how {h} found {the_o}, and a friend as well.
"I thought I had found {a_o}," said {h}. "But I found a friend." {keep}
{h} looked at {the_o} and thought that it was the best thing {he} had ever found. {F} thought that it was {h}.
And if you go {place_to}, you may still see {h} and {f} with {the_o}.
So {the_o} made [two friends happy|a good day of a bad one|a friend out of a stranger]. {keep}
"""

END_FRIEND = """
From that day on, {h} and {f} were [the best of friends|never apart|good neighbours and better friends].
That night, {h} fell asleep with a smile, and {f} did too.
They ate {dish} together and laughed until the stars came out.
And if you listen well, {place_at}, you can still hear {h} and {f} laughing.
"You know," said {f}, "today was a good day." And {h} thought so too.
"Shall we meet tomorrow?" asked {f}. "Tomorrow and every day," said {h}.
They walked home side by side, and the moon walked with them.
And all was well {place_at}.
Ever after, the two of them met each evening to share {dish} and tell stories.
"""

GOOD_NIGHT = """
That night, {h} slept very well.
Then {h} {mv} home to {his} {home_short}, ate some {food}, and fell asleep.
{h} yawned, closed {his} eyes, and dreamed of [the sea|tomorrow|stars|far places|a new adventure].
And when the moon came up, {h} was already asleep, with a smile on {his} face.
"Good night," whispered {h} to the moon. And the moon shone a little brighter.
"""
