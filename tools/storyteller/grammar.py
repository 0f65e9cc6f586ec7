"""The story grammar: from facts (who, what, where) and a plot to a story.

`Story(rng, facts)` fixes everything that has to stay the same through one story and `.text` tells it. Same seed, same
story. `python3 grammar.py [SEED [COUNT]]` prints some.
"""

import random
import re
import sys
import zlib
from bisect import bisect
from functools import lru_cache

import lexicon as lex
import phrases
import plots

HEROES = {**lex.ANIMALS, **lex.PEOPLE, **lex.EXTRA}
MAX_WORDS = 205

# ---- the little language -------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[\[\]|]|\{\w+\}|[^\[\]|{}]+")


def _parse_sequence(tokens, at, nested):
    """tokens[at:] → (list of parts, next index); a part is text, ('slot', name) or
    ('choice', [sequences], their texts)."""
    parts = []
    while at < len(tokens):
        token = tokens[at]
        if nested and token in "|]":
            return parts, at
        if token == "[":
            options, sources = [], []
            while token != "]":
                begin = at + 1
                option, at = _parse_sequence(tokens, begin, True)
                options.append(option)
                sources.append("".join(tokens[begin:at]))
                token = tokens[at]
            # the number tells options of the same text apart
            parts.append(("choice", options, tuple(f"{i}{source}" for i, source in enumerate(sources))))
        elif token[0] == "{":
            parts.append(("slot", token[1:-1]))
        else:
            parts.append(token)
        at += 1
    return parts, at


@lru_cache(maxsize=None)
def parse(text):
    return _parse_sequence(_TOKEN.findall(text), 0, False)[0]


@lru_cache(maxsize=None)
def lines(block):
    return [line for line in block.strip().splitlines() if line]


def capital(text):
    return text[:1].upper() + text[1:]


_SENTENCE = re.compile(r'(^|[.!?]"? |\n|(?:^|(?<!,)[ \n])")([a-z])')
_SPEAKS = r"(?:\S+ ){1,4}(?:said|asked|cried|called|thought|whispered)\b"
_AFTER_SPEECH = re.compile(r'([!?]" )(?=(?:the|a|an|his|her) )(?!' + _SPEAKS + r")([a-z])")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aAiI]|[eE](?!u)|[oO](?!ne\b|nce\b)|[uU](?!ni[cfqv]|se|sua))")


def polish(text):
    """Capital letters at sentence starts (not after a quoted question, `"Why?" he asked`, and not where speech goes \
on), a → an, spaces."""
    text = re.sub(r" +", " ", text).replace(" \n", "\n").strip()
    text = text.replace("\n ", "\n")
    text = _SENTENCE.sub(lambda m: m[1] + (m[2] if m[1][:2] in ('!"', '?"') else m[2].upper()), text)
    text = _AFTER_SPEECH.sub(lambda m: m[1] + m[2].upper(), text)
    text = _ARTICLE.sub(r"\1n ", text)
    return text.replace(". .", ".").replace("..", ".").replace(",,", ",")


# ---- facts ---------------------------------------------------------------------------------------------------------

def held_out(hero, thing):
    """Pairs that never meet in a training story; the follow rate is measured on them."""
    return zlib.crc32(f"{hero}/{thing}".encode()) % 12 == 0


def invented(rng):
    """A word that does not exist, or hardly: one to three syllables and perhaps an ending."""
    count = rng.choice((1, 1, 2, 2, 2, 3))
    word = ""
    for index in range(count):
        word += rng.choice(lex.ONSETS) + rng.choice(lex.VOWELS)
        if index == count - 1 or rng.random() < 0.3:
            word += rng.choice(lex.CODAS)
    if len(word) < 4 or rng.random() < 0.35:
        word += rng.choice(lex.ENDINGS)
    return word


def pick_hero(rng):
    """(noun, its row); one in nine is an invented creature, so that unknown words are copied too."""
    roll = rng.random()
    if roll < 0.11:
        return invented(rng), dict(HEROES[rng.choice(list(HEROES))], noun=None)
    table = lex.ANIMALS if roll < 0.71 else lex.PEOPLE if roll < 0.86 else lex.EXTRA
    noun = rng.choice(FAVOURITES) if table is lex.ANIMALS and roll < 0.24 else rng.choice(list(table))
    return noun, table[noun]


# Some heroes are met more often than others: the beginning of a story without a request is then no tie of all of them.
FAVOURITES = ["hedgehog"] * 4 + ["fox", "fox", "rabbit", "rabbit", "mouse", "bear", "owl", "cat"]


def pick_object(rng, taste):
    """(noun, adjective or '', kind)"""
    if rng.random() < 0.13:
        noun, kind = invented(rng), "thing"
    elif rng.random() < 0.55:
        noun = rng.choice(list(lex.OBJECTS) if rng.random() < 0.8 else PLOT_OBJECTS)
        kind = lex.OBJECTS[noun]
    else:
        kind = favour(rng, KINDS, taste)
        noun = favour(rng, tuple(lex.OBJECT_KINDS[kind]), taste)
    adjectives = lex.ADJECTIVES[kind]
    adjective = rng.choice(adjectives) if rng.random() < 0.5 else favour(rng, tuple(adjectives), taste)
    if rng.random() < 0.2:
        adjective = ""
    elif rng.random() < 0.04:
        adjective = invented(rng)
    return noun, adjective, kind


KINDS = ("key", *lex.OBJECT_KINDS)
PLOT_OBJECTS = ["key"] * 4 + ["map", "map", "letter", "note", "egg", "seed", "wand",
                              "magic lamp"]  # have their own plots

# ---- taste -----------------------------------------------------------------------------------------------------------

TASTES = 12


def taste_of(word, known):
    """Words fall into a dozen groups, and each group favours other sentences. So a fox's story differs from a bear's \
also
    where the model always takes its best guess, and that guess is clear instead of a tie of all the variants."""
    return 1 + zlib.crc32(word.encode()) % TASTES if word in known else 0


@lru_cache(maxsize=None)
def _weights(options, taste):
    """Cumulative weights that fall along an order of the taste's own; steeply for few options."""
    order = sorted(range(len(options)), key=lambda i: zlib.crc32(f"{taste}/{options[i]}".encode()))
    weights, total, sums = [0.0] * len(options), 0.0, []
    for position, index in enumerate(order):
        if len(options) > 30:
            weights[index] = 1 / (position + 1)
        else:
            weights[index] = (0.6 if len(options) <= 4 else 0.75) ** position
    for weight in weights:
        total += weight
        sums.append(total)
    return sums


def favour(rng, options, taste):
    """One of the options (a tuple), most often one that the taste favours."""
    sums = _weights(options, taste)
    return options[bisect(sums, rng.random() * sums[-1])]


def gender_of(noun, rng):
    if noun in lex.FEMALE:
        return "she"
    return "he" if noun in lex.MALE else favour(rng, ("he", "she"), taste_of(noun, HEROES))


PRONOUNS = {"he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
            "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"}}
ON_HOMES = ("lily pad", "branch", "flat", "shelf", "island", "leaf", "old wooden pier", "warm stone", "pile",
            "soft cushion", "sandy", "stem", "ship")


def home_preposition(home):
    return "on" if home.startswith(ON_HOMES) else "in"


def make_facts(rng, **fixed):
    """Who, what, where. `fixed` overrides: hero, row, object, place."""
    facts = {}
    while True:
        facts["hero"], facts["row"] = fixed["hero"] if "hero" in fixed else pick_hero(rng)
        facts["object"], facts["adjective"], facts["kind"] = fixed.get("object") or pick_object(
            rng, taste_of(facts["hero"], HEROES))
        if fixed.get("allow_held_out") or not held_out(facts["hero"], facts["object"]):
            break
    facts["gender"] = fixed.get("gender") or gender_of(facts["hero"], rng)
    names = lex.GIRL_NAMES if facts["gender"] == "she" else lex.BOY_NAMES
    taste = taste_of(facts["hero"], HEROES)
    name = favour(rng, tuple(names), taste) if rng.random() < 0.6 else rng.choice(names)
    if rng.random() < 0.08:
        name = capital(invented(rng))
    facts["name"] = fixed.get("name") or (name if rng.random() < 0.62 else None)
    adjective = favour(rng, tuple(lex.HERO_ADJECTIVES),
                       taste) if rng.random() < 0.6 else rng.choice(lex.HERO_ADJECTIVES)
    facts["hero_adjective"] = adjective if rng.random() < 0.6 else ""
    habitat = facts["row"]["habitat"]
    near = [place for place in lex.PLACES if habitat in place[3].split()] or lex.PLACES
    facts["place"] = favour(rng, tuple(near), taste) if rng.random() < 0.8 else rng.choice(lex.PLACES)
    facts["place_adjective"] = rng.choice(facts["place"][1].split()) if rng.random() < 0.6 else ""
    facts["skill"], facts["role"] = rng.choice(lex.SKILLS), rng.choice(lex.ROLES)
    facts["goal"], facts["fear"] = rng.choice(lex.GOALS), rng.choice(list(lex.FEARS))
    return facts


def pick_plot(rng, facts):
    """(name, beats, whether the object is in it)"""
    if rng.random() < 0.32:
        name = rng.choice(list(plots.FREE)) if rng.random() < 0.5 else favour(
            rng, tuple(plots.FREE), taste_of(facts["hero"], HEROES))
        return name, plots.FREE[name], False
    kind = facts["kind"]
    special = plots.SPECIAL_NOUN.get(facts["object"]) or plots.SPECIAL.get(kind) or []
    options = [(beats, weight) for beats, weight in special]
    options += plots.FIND_PLOTS if kind not in ("seed", "egg", "wand") else [(plots.USE, 2)]
    if kind not in ("seed", "egg"):
        options += [(plots.LOST, 2), (plots.QUARREL, 2), (plots.GIFT, 1.5), (plots.RACE, 1), (plots.SHARE, 1)]
    beats = rng.choices([o[0] for o in options], [o[1] for o in options])[0]
    return PLOT_NAMES[id(beats)], beats, True


PLOT_NAMES = {id(value): key.lower() for key, value in vars(plots).items() if isinstance(value, list) and key.isupper()}
FINDERS = {"owner", "use", "lock", "grow", "egg", "letter", "wishes", "map"}

# ---- word lists of single slots --------------------------------------------------------------------------------------

STRANGE = [
    ("Every night somebody ate some of {his} {food}.", "I was so hungry, and it smelled so good."),
    ("There was a tapping on the roof.", "I only wanted to look at the stars from up there."),
    ("Somebody had swept the floor and made the bed.", "I wanted to do you a good turn, in secret."),
    ("Each morning a flower lay at {his} door.", "I wanted to give you a present, but I was too shy to knock."),
    ("A soft song came out of the wall.", "I always sing when I cannot sleep."),
    ("{His} left shoe was gone, and the day after, so was the right one.", "I needed a bed for my little ones."),
    ("There were wet footprints on the floor.", "It was raining so hard, and your door was open."),
    ("Everything in the garden was eaten, down to the last leaf.", "My own garden was washed away by the rain."),
]
LOCKS = [
    ("a small green door", ["a garden that nobody had seen for a hundred years", "a room full of books",
                            "a tiny kitchen, and on the table stood warm {dish}", "a stair that led up to the stars",
                            "a room where an old piano played all by itself", "a workshop full of half finished toys"]),
    ("an old wooden chest", ["a heap of old letters, and each one told a story", "a warm coat for every friend",
                             "a little silver boat", "a hundred coloured stones",
                             "a picture of {his} grandmother, smiling"]),
    ("a box with a golden lid", ["a music box that played a soft song", "a tiny lamp that never went out",
                                 "a book with empty pages, waiting for a story"]),
]
CHESTS = ["a hundred coloured stones", "a big bag of sweets and a note: For the one who did not give up",
          "an old book full of stories", "a little silver boat", "a golden bell", "a jar full of seeds",
          "a warm blanket and two cups", "a mirror, and in it {h} saw two happy friends"]
FAVOURS = [
    ("{h} fell into a deep hole and could not get out.",
     "{F} let down a long vine and held it tight until {h} was out."),
    ("{h} was caught in a net.", "{Fhe} bit through the ropes, one after the other, until {h} was free."),
    ("{h} lost {his} way in the snow.", "{F} knew the way, and step by step {fhe} led {h} home."),
    ("{h} was ill and could not get out of bed.", "{Fhe} cooked soup, made tea and sat by the bed until {h} was well."),
    ("a storm blew the roof off {his} house.", "{F} brought all {fhis} family, and by evening there was a new roof."),
]
BABIES = ["bird", "turtle", "dragon", "duckling", "crocodile", "penguin", "dinosaur", "owl", "lizard"]
WORDS = {
    "everybody": ["everybody", "everyone"],
    "home_word": ["home"],
    "hello": ["Hello", "Good morning", "Good day", "Hi there"], "hello2": ["Hello", "Good morning", "Oh, hello"],
    "yes": ["Yes", "Of course", "With pleasure", "Oh yes"], "my_turn": ["Now it is my turn", "Today I help you"],
    "dish": lex.DISHES,
    "not_mine": ["No, not mine,", "What would I do with {a_o}?", "Mine is at home,", "I have never seen it before,",
                 "No, mine looks quite different,", "I wish it was, but no,", "Not mine!"],
    "no_lock": ["old gate", "toy box", "garden shed", "blue door", "heavy trunk"],
    "no_lock2": ["church door", "letter box", "cupboard", "cellar door", "barn door"],
    "lock_spot": ["behind a curtain of ivy", "at the end of a narrow path", "high up in an old tower",
                  "under the roots of a tree", "at the back of a cave", "behind a pile of stones",
                  "under a heap of leaves"],
    "search": ["under the bed", "behind the door", "in every corner", "under every leaf"],
    "search2": ["under the table", "on the roof", "down by the water", "in all {his} pockets", "behind every tree"],
    "lost_found": ["Behind the bush sat {a_f}, and in front of {fhim} lay {the_o}!",
                   "{A_f} came along the path, and {fhe} was carrying {the_o}!",
                   "There, in the sun, sat {a_f} with {the_o}!",
                   "{A_f} was looking for the owner of {the_o}, from door to door."],
    "lost_reason": ["I found it by the path.", "I did not know that it was yours.", "I only wanted to look after it.",
                    "It was so lonely, all alone in the rain.", "I thought that nobody wanted it."],
    "fail": ["{He} fell on {his} nose.", "It went wrong three times.", "Nothing worked.", "{He} only got dizzy.",
             "{He} ended up in a bush.", "Even the birds had to laugh.", "It was much harder than it looked."],
    "fear_act": ["Step by step {he} came closer, until {he} could reach {f}. Then they ran home together.",
                 "{He} sang a little song, and singing, {he} brought {f} home.",
                 "Together they counted to ten. At ten, it was over.",
                 "{He} held {f} tight until everything was quiet again.",
                 "{He} closed {his} eyes, opened them again, and pulled {f} to safety."],
    "saw_friends": ["watched the others play", "saw the others laugh together", "ate breakfast alone"],
    "friend_diff": ["{h} was quiet, and {f} talked all day.", "{h} liked mornings, and {f} liked evenings.",
                    "{h} liked {food}, and {f} liked {ffood}.", "{h} could {gift}, and {f} could {fgift}.",
                    "One was slow and one was fast, but that did not matter."],
    "message": ["Please come. I have nobody to talk to.", "If you read this, you are my friend.",
                "I live at the end of the road. Come for tea!", "I am waiting for someone who likes stories.",
                "Help! My house is full of cake and I cannot eat it alone."],
    "rain_idea": ["Let us jump into every puddle!", "We can build a boat and sail it down the path!",
                  "Let us build a house out of blankets!", "Listen, the rain is playing the drum. Let us dance!",
                  "Let us catch the drops in cups and make music!",
                  "We can tell each other stories, the longer the better!"],
    "grown": ["a hundred blue flowers", "golden apples", "tiny bells that rang in the wind", "big red fruit",
              "flowers that smelled of honey", "pears as sweet as sugar", "flowers that shone at night"],
    "gsleep": ["count sheep", "drink warm milk", "close one eye and then the other", "think of {dish}", "hum a song"],
    "glaughed": ["only laughed", "giggled"],
    "g_old": ["", "an old ", "a wise old ", "a fat ", "a busy ", "a passing ", "a friendly ",
              "a young ", "a tired ", "a thoughtful "],
}


# ---- a story -------------------------------------------------------------------------------------------------------

class Story:
    """One story: its fixed words in `bound`, what was already named, and the finished text."""

    def __init__(self, rng, facts, plot=None):
        self.rng, self.facts = rng, facts
        self.plot, self.beats, self.has_object = plot or pick_plot(rng, facts)
        self.bound, self.seen, self.known, self.object_count = {}, set(), set(), 0
        self.taste, self.object_taste = taste_of(facts["hero"], HEROES), taste_of(facts["object"], lex.OBJECTS)
        self._bind_hero()
        self._bind_others()
        self._bind_place()
        self._bind_object()
        self._bind_plot()
        self.text = self._tell()

    # -- what stays the same

    def _bind_hero(self):
        facts, row, bound = self.facts, self.facts["row"], self.bound
        bound.update(PRONOUNS[facts["gender"]])
        kind, adjective = facts["hero"], facts["hero_adjective"]
        bound.update(kind=kind, a_kind=f"a {kind}", a_kind_l=f"a {kind}", food=row["food"], gift=row["gift"])
        plain = f"a {adjective} {kind}" if adjective else f"a {kind}"
        name = facts["name"]
        called = f" [named|named|called] {name}" if name else ""
        bound.update(name=name or "", a_plain_h=plain, a_h=plain + called, a_h2=plain + called)
        base, past, ing = lex.MOVES[row["move"]]
        bound.update(mv0=base, mv=past, mving=ing)
        thinks, glads, sads = lex.GESTURES[row["body"]]
        self.lists = {"think": thinks + ["thought for a while", "wondered"], "glad": glads + ["was very happy",
            "smiled"],
                      "sad": sads + ["was very sad", "felt sad"]}
        home = row["home"]
        bound["a_home"] = f"a {home}"
        bound["home_short"] = re.split(r" (?:in|under|by|of|on|with|above|full|between|among|behind|beneath) ", home)[0]

    def _bind_others(self):
        rng, bound = self.rng, self.bound
        friend, row = self.facts.get("friend") or self._companion()
        wanted = "he" if self.facts["gender"] == "she" else "she"
        gender = gender_of(friend, rng)
        if gender != wanted and friend not in lex.FEMALE | lex.MALE:
            gender = wanted
        for key, value in PRONOUNS[gender].items():
            bound["f" + key] = value
        names = [n for n in (lex.GIRL_NAMES if gender == "she" else lex.BOY_NAMES) if n != self.facts["name"]]
        fname = favour(rng, tuple(names), self.taste) if rng.random() < 0.6 else rng.choice(names)
        fname = fname if rng.random() < 0.4 else ""
        adjective = self._favour(("", "little", "old", "young", "small", "tired", "friendly", "shy", " "))
        plain = f"a {adjective} {friend}" if adjective.strip() else f"a {friend}"
        bound.update(fkind=friend, fname=fname, a_fkind=f"a {friend}",
                     a_friend=f"{plain} named {fname}" if fname else plain)
        bound["fname_or_kind"] = fname or f"a {friend}"
        bound.update(ffood=row["food"], fgift=self._for_friend(row["gift"]))
        _, glads, sads = lex.GESTURES[row["body"]]
        self.lists["fglad"] = [self._for_friend(text) for text in glads] + ["beamed", "smiled for joy"]
        self.lists["fsad"] = [self._for_friend(text) for text in sads] + ["looked very sad"]
        third, _ = self._companion(friend)
        g_gender = PRONOUNS[gender_of(third, rng)]
        bound.update(gkind=third, **{"g" + key: value for key, value in g_gender.items()})

    def _companion(self, other=None):
        while True:
            table = lex.ANIMALS if self.rng.random() < 0.93 else lex.PEOPLE
            noun = favour(self.rng, tuple(table),
                          self.taste) if self.rng.random() < 0.6 else self.rng.choice(list(table))
            if noun not in (self.facts["hero"], other):
                return noun, table[noun]

    @staticmethod
    def _for_friend(text):
        return re.sub(r"\{(he|him|his|himself)\}", r"{f\1}", text)

    def _bind_place(self):
        preposition, _, noun, _, detail = self.facts["place"]
        adjective = self.facts["place_adjective"]
        bound = self.bound
        bound["place"] = f"{preposition} a {adjective} {noun}" if adjective else f"{preposition} a {noun}"
        if noun in ("sea", "moon"):
            bound["place"] = bound["place"].replace(" a ", " the ")
        bound.update(place_at=f"{preposition} the {noun}", place_to=f"to the {noun}", place_over=f"over the {noun}")
        bound["place_detail"] = detail
        home = f"{home_preposition(self.facts['row']['home'])} a {self.facts['row']['home']}"
        both = len(home.split()) < 8 and noun not in home
        wheres = [bound["place"]] * 3 + [f"{home} {bound['place']}"] * (2 if both else 0)
        if not self.facts.get("place_asked"):
            wheres.append(home)
        bound["where"] = favour(self.rng, tuple(wheres), self.taste)
        wet = self.facts["row"]["habitat"] == "sea" and self.facts["row"]["body"] in ("fish", "shell")
        bound["spot"] = self._favour(tuple(lex.WATER_SPOTS if wet else lex.SPOTS))

    def _bind_object(self):
        noun, adjective, kind = self.facts["object"], self.facts["adjective"], self.facts["kind"]
        full = f"{adjective} {noun}" if adjective else noun
        self.bound.update(o_noun=noun, o_adj_noun=full, a_o=f"a {full}")
        self.lists["look"], self.lists["keep"] = phrases.LOOK[kind], phrases.KEEP[kind]
        self.bound["try_it"] = self._favour(tuple(phrases.TRY[kind]))
        self.bound["use_trouble"], self.bound["use_solve"] = self._pair(phrases.USES[kind])

    def _bind_plot(self):
        rng, facts, bound = self.rng, self.facts, self.bound
        bound.update(skill=facts["skill"], goal=facts["goal"], fear=facts["fear"],
                     fear_event=lex.FEARS[facts["fear"]][0])
        bound.update(role=facts["role"], a_role=f"a {facts['role']}", role_title=f"the {facts['role']}")
        bound["strange"], bound["excuse"] = self._pair(STRANGE)
        bound["favour_trouble"], bound["favour_help"] = self._pair(FAVOURS)
        bound["lock"], treasures = self._pair(LOCKS)
        bound["treasure"] = self._favour(tuple(CHESTS if self.plot == "map" else treasures))
        bound["a_f_baby"] = f"a tiny {self._favour(tuple(BABIES))}"
        for key in ("no_lock", "no_lock2", "lock_spot", "search", "search2", "grown", "dish"):
            bound[key] = self._favour(tuple(WORDS[key]))

    # -- words that depend on what was said before

    def _hero(self):
        name, kind = self.facts["name"], self.facts["hero"]
        roll = self.rng.random()
        if name and roll < 0.6:
            return name
        if self.facts["hero_adjective"] and roll > 0.92:
            return f"the {self.facts['hero_adjective']} {kind}"
        return f"the {kind}"

    def _friend(self):
        bound = self.bound
        if "friend" not in self.seen:
            self.seen.add("friend")
            named = f"{bound['fname']} the {bound['fkind']}" if bound["fname"] else f"the {bound['fkind']}"
            return f"{bound['his']} {self._favour(('friend', 'neighbour'))} {named}"
        if bound["fname"] and self.rng.random() < 0.65:
            return bound["fname"]
        return f"the {bound['fkind']}"

    def _new_friend(self):
        if "friend" in self.seen:
            return self._friend()
        self.seen.add("friend")
        return self.bound["a_friend"]

    def _full_friend(self):
        self.seen.add("friend")
        name, kind = self.bound["fname"], self.bound["fkind"]
        return f"{name} the {kind}" if name else f"the {kind} next door"

    def _third(self):
        if "third" in self.seen:
            return f"the {self.bound['gkind']}"
        self.seen.add("third")
        return (self._favour(tuple(WORDS["g_old"])) or "a ") + self.bound["gkind"]

    def _object(self):
        self.object_count += 1
        short = self.object_count > 2 and self.rng.random() < 0.45
        return "the " + (self.bound["o_noun"] if short else self.bound["o_adj_noun"])

    def _fresh(self, options):
        """A random option, each sentence at most once in a story while others are left."""
        options = tuple(options)
        for _ in range(4):
            choice = self._favour(options)
            if choice not in self.known:
                break
        self.known.add(choice)
        return choice

    def _favour(self, options):
        """By the taste of the hero or, for every other list, of the object."""
        odd = zlib.crc32(options[0].encode()) & 1 and self.has_object
        return favour(self.rng, options, self.object_taste if odd else self.taste)

    def _pair(self, pairs):
        """A pair, by the taste for its first text."""
        first = self._favour(tuple(pair[0] for pair in pairs))
        return next(pair for pair in pairs if pair[0] == first)

    def _shared(self, name):
        return self._fresh(lines(getattr(phrases, name)))

    def _day(self):
        return self._fresh(lines(phrases.DAY)).replace("{weather}", self._favour(tuple(lex.NATURE)))

    SPECIAL = {"h": _hero, "f": _friend, "a_f": _new_friend, "f_full": _full_friend, "g": _third, "the_o": _object,
               "day": _day, "day_lower": lambda self: (lambda day: day[0].lower() + day[1:])(self._day()),
               "end_friend": lambda self: self._shared("END_FRIEND"),
               "good_night": lambda self: self._shared("GOOD_NIGHT")}

    def _slot(self, name):
        lower = name[0].lower() + name[1:]
        if lower in self.SPECIAL:
            value = self.SPECIAL[lower](self)
        elif lower in self.bound:
            value = self.bound[lower]
        elif lower in self.lists:
            value = self._fresh(self.lists[lower])
        else:
            value = self._favour(tuple(WORDS[lower]))
        if "{" in value or "[" in value:
            value = self.expand(value)
        return capital(value) if name[0].isupper() else value

    def expand(self, text):
        out = []
        self._expand_parts(parse(text), out)
        return "".join(out)

    def _expand_parts(self, parts, out):
        for part in parts:
            if isinstance(part, str):
                out.append(part)
            elif part[0] == "slot":
                out.append(self._slot(part[1]))
            else:
                chosen = self._favour(part[2])
                self._expand_parts(part[1][part[2].index(chosen)], out)

    # -- the telling

    def _beat(self, beat):
        optional, beat = beat[0] == "?", beat.lstrip("?")
        if optional and self.rng.random() < 0.5:
            return ""
        paragraph, beat = beat[0] == "¶", beat.lstrip("¶")
        if beat == "OPEN":
            named = self.facts["name"] and self.rng.random() < 0.25
            options = lines(phrases.OPEN_NAMED if named else phrases.OPEN)
        else:
            options = lines(getattr(phrases, beat) if beat.isupper() else beat)
        line = self._fresh(options)
        if line[0] == "¶":
            paragraph, line = True, line[1:]
        return ("\n\n" if paragraph else " ") + self.expand(line)

    def _tell(self):
        text = polish("".join(self._beat(beat) for beat in self.beats))
        return text + self.rng.choice(("\n\nThe end.",)) if self.rng.random() < 0.06 else text


def tell(rng, facts, plot=None):
    """A story that names its hero and its object and is not too long."""
    while True:
        story = Story(rng, facts, plot)
        long = len(story.text.split()) > MAX_WORDS
        lacks = story.has_object and story.bound["o_adj_noun"] not in story.text
        if not long and not lacks and story.facts["hero"] in story.text.lower():
            return story
        plot = None if long else plot


if __name__ == "__main__":
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for seed in range(first, first + (int(sys.argv[2]) if len(sys.argv) > 2 else 5)):
        generator = random.Random(seed)
        told = tell(generator, make_facts(generator))
        print(f"--- {seed} {told.plot} ({len(told.text.split())} words)\n{told.text}\n")
