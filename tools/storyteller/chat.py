"""Training documents: plain stories, and talks in the chat format with requests, follow-ups and small talk.

`document(rng)` gives one as text with the special tokens written out. `python3 chat.py [SEED [COUNT]]` prints some.
"""

import random
import sys

import lexicon as lex
from grammar import FINDERS, HEROES, gender_of, invented, make_facts, polish, tell

BEGIN, END, USER, ASSISTANT, SYSTEM = "<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"
SPECIAL_TOKENS = [BEGIN, END, USER, ASSISTANT, SYSTEM]

SYSTEM_PROMPTS = [
    "You are a friendly storyteller.", "You are a helpful assistant.",
    "You are Storyteller. You tell short stories for children.",
    "You tell bedtime stories.", "Answer the user.", "You are a kind assistant who writes stories.",
    "Be nice and write well.",
    "You are a creative writer.", "You are a helpful, honest assistant. Keep your answers short.",
]

# ---- requests --------------------------------------------------------------------------------------------------------

# {x}: the subject with its article, {t}: "story" or another word for it
REQUESTS = """
Tell me a {t} about {x}.
Tell me a {t} about {x}.
Tell me a {t} about {x}
Tell me {x_story}.
Write a {t} about {x}.
Write a {t} about {x}.
Write me a {t} about {x}.
Write a {t} of {x}.
Can you tell me a {t} about {x}?
Could you tell me a {t} about {x}?
Could you write a {t} about {x}, please?
Will you tell me a {t} about {x}?
Would you tell us a {t} about {x}?
Please tell me a {t} about {x}.
Please write a {t} about {x}.
Please tell us a {t} about {x}!
I want a {t} about {x}.
I would like a {t} about {x}.
I'd like to hear a {t} about {x}.
I want to hear a {t} about {x}!
I'd love a {t} about {x}, please.
Make up a {t} about {x}.
Invent a {t} about {x}.
Create a {t} about {x}.
Give me a {t} about {x}.
Do you know a {t} about {x}?
Do you have a {t} about {x}?
A {t} about {x}, please.
A {t} about {x}
A {t} about {x}!
Story about {x}
{x}
{x}, please
Now tell me a {t} about {x}.
How about a {t} about {x}?
Let us have a {t} about {x}.
Let's hear a {t} about {x}.
My daughter wants a {t} about {x}.
My son would like a {t} about {x}.
The children want to hear a {t} about {x}.
It is bedtime. Tell us a {t} about {x}.
Hi! Tell me a {t} about {x}.
Hello, can you write a {t} about {x}?
Hey, tell me a {t} about {x}.
Can I have a {t} about {x}?
May I have a {t} about {x}, please?
I need a {t} about {x}.
Think of a {t} about {x}.
Generate a {t} about {x}.
Write a {t} in which {x} is the hero.
Tell a {t} about {x}.
Tell me a {t} with {x}.
Write a {t} with {x} in it.
A {t} with {x}
Please tell a {t} about {x} to my little sister.
"""
REQUESTS = [line for line in REQUESTS.strip().splitlines() if "{x_story}" not in line and "in which" not in line]
TALES = ["story"] * 12 + ["short story"] * 4 + ["little story", "bedtime story", "bedtime story", "tale", "fairy tale",
                                                  "nice story", "funny story", "children's story", "new story",
                                                  "good story",
                                                  "very short story", "sweet story"]
OPEN_REQUESTS = ["Tell me a {t}.", "Tell me a {t}!", "Write a {t}.", "Can you tell me a {t}?", "I want a {t}.",
                 "A {t}, please.",
                 "Please tell me a {t}.", "Tell us a {t}, please.", "Do you know a {t}?", "Surprise me!",
                 "Tell me something.",
                 "story", "A story!", "Write something nice.", "I am bored.", "I cannot sleep.",
                 "Tell me anything you like.",
                 "Can you write a {t} for my children?", "Make up a {t}.", "Once upon a time"]

WHO = ["who", "who", "that"]
BY_PLOT = {
    "find": ["{who} finds {o}", "{who} finds {o}", "{who} finds {o}", "{who} found {o}", "{who} discovers {o}",
             "finding {o}",
             "{who} comes across {o}", "and {o}", "and {o}", "with {o}", "{who} finds {o} {spot}",
             "{who} stumbles over {o}",
             "{who} one day finds {o}", "{who} gets {o}"],
    "lost": ["{who} loses {o}", "{who} lost {o}", "{who} has lost {his} {po}", "{who} loses {his} {po}",
             "and a lost {po}",
             "{who} is looking for {his} {po}", "{who} cannot find {his} {po}", "and {his} {po}", "and {o}",
             "searching for {o}"],
    "quarrel": ["{who} fights with a friend about {o}", "{who} quarrels over {o}", "{who} wants {o}", "and {o}",
                "and a friend who both want {o}", "{who} will not let go of {o}"],
    "gift": ["{who} wants to give {o} to a friend", "{who} looks for a birthday present and finds {o}", "and {o}",
             "{who} gives away {o}", "with {o} as a present", "{who} makes a present: {o}"],
    "race": ["{who} wins {o}", "in a race for {o}", "{who} wants to win {o}", "and {o}",
             "in a race where the prize is {o}"],
    "share": ["{who} does not want to share {o}", "{who} has {o}", "with {o}", "and {o}",
              "{who} learns to share {his} {po}",
              "{who} owns {o}", "{who} gets {o}"],
    "learn": ["{who} wants to learn to {skill}", "{who} wants to {skill}", "{who} cannot {skill}",
              "{who} learns to {skill}",
              "learning to {skill}", "{who} learns how to {skill}"],
    "fear": ["{who} is afraid of {fear}", "{who} is scared of {fear}", "afraid of {fear}", "{who} was afraid of {fear}",
             "{who} fears {fear}"],
    "friend": ["{who} has no friends", "{who} is lonely", "{who} finds a friend", "looking for a friend",
               "{who} makes a new friend", "{who} meets {f}", "and {f}", "and {f} who become friends"],
    "journey": ["{who} wants to {goal}", "{who} dreams of a journey", "{who} goes on a journey",
                "{who} sets off to {goal}",
                "{who} would like to {goal}", "on {his} way to {goal}"],
    "mystery": ["and a mystery", "{who} solves a riddle", "and a strange guest", "{who} finds out a secret",
                "and a strange noise", "{who} is a detective"],
    "sleep": ["{who} cannot sleep", "{who} can't sleep", "{who} is not tired", "{who} lies awake", "at bedtime"],
    "favour": ["{who} helps {f}", "{who} is kind to {f}", "and {f} who help each other", "{who} saves {f}"],
    "cannot": ["{who} cannot {gift}", "{who} can't {gift}", "{who} does not know how to {gift}",
               "{who} never learned to {gift}"],
    "role": ["{who} wants to be {role}", "{who} becomes {role}", "{who} wants to become {role}",
             "{who} dreams of being {role}"],
    "rain": ["in the rain", "on a rainy day", "{who} does not like the rain", "{who} is bored", "{who} loves puddles"],
}
TOPICS = {"friend": ["friendship", "two friends", "being lonely"], "share": ["sharing"], "fear": ["being brave",
    "courage", "fear"],
          "learn": ["learning something new", "not giving up"], "favour": ["kindness", "helping each other"],
          "quarrel": ["a quarrel", "saying sorry"], "journey": ["a long journey", "a dream"], "rain": ["the rain",
              "a rainy day"],
          "sleep": ["the moon and sleep", "going to bed", "sleep"], "race": ["a race"], "gift": ["a birthday",
              "a present"],
          "mystery": ["a mystery", "a secret"], "owner": ["being honest"], "wishes": ["three wishes", "magic"],
          "map": ["a treasure", "a treasure hunt"], "grow": ["a garden", "being patient"], "role": ["a big dream"]}


def subject(rng, story):
    """What the request says of the story: always true of it, from `a fox` to everything that matters."""
    facts, roll = story.facts, rng.random()
    if roll < 0.03 and story.plot in TOPICS:
        return rng.choice(TOPICS[story.plot])
    if roll < 0.08 and story.has_object:
        return "a " + story.bound["o_adj_noun"]
    adjective = facts["hero_adjective"] if rng.random() < 0.45 else ""
    hero = f"a {adjective} {facts['hero']}" if adjective else f"a {facts['hero']}"
    if facts["name"] and rng.random() < 0.22:
        hero += rng.choice((" named ", " called ", " whose name is ")) + facts["name"]
    elif facts["name"] and rng.random() < 0.05:
        hero = f"{facts['name']} the {facts['hero']}"
    if roll < 0.11:
        return plural(facts["hero"])
    if roll < 0.125 and facts["name"]:
        return f"my {facts['hero']} {facts['name']}"
    if roll < 0.145 and story.has_object:
        return hero + rng.choice((". There should be {} in it", ". It should also have {} in it", ". Put {} into it",
                                  ". There must be {} in the story")).format(story.bound["a_o"])
    if roll < 0.23:
        return hero + _where(rng, story, 0.3)
    if roll < 0.29 and f"a {story.bound['fkind']}" in story.text.replace("an ", "a ").lower():
        return f"{hero} and {story.bound['a_fkind']}" + _where(rng, story, 0.12)
    key = "find" if story.plot in FINDERS else story.plot
    clause = rng.choice(BY_PLOT[key])
    words = dict(story.bound, who=rng.choice(WHO), o=story.bound["a_o"], po=story.bound["o_adj_noun"],
                 f=story.bound["a_fkind"], role=story.bound["a_role"])
    for _ in range(2):  # a skill or a goal holds a pronoun itself
        for name in ("who", "o", "po", "f", "role", "skill", "goal", "fear", "gift", "spot", "his"):
            clause = clause.replace("{" + name + "}", words[name])
    return f"{hero} {clause}" + _where(rng, story, 0.12)


def _where(rng, story, chance):
    if not story.facts.get("place_asked") or rng.random() > chance * 6:
        return ""
    return " " + rng.choice((story.bound["place"], story.bound["place"], story.bound["place_at"]))


PLURALS = {"mouse": "mice", "dormouse": "dormice", "wolf": "wolves", "goose": "geese", "sheep": "sheep", "deer": "deer",
           "fish": "fish", "calf": "calves", "elf": "elves", "moose": "moose", "fisherman": "fishermen",
           "snowman": "snowmen", "starfish": "starfish", "butterfly": "butterflies", "fairy": "fairies",
           "pony": "ponies",
           "puppy": "puppies", "ladybird": "ladybirds", "dragonfly": "dragonflies"}


def plural(noun):
    return PLURALS.get(noun) or noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def typed(rng, text):
    """As people type: with a capital and a full stop, or without."""
    text = polish(text)
    roll = rng.random()
    if roll < 0.16:
        return text.lower().rstrip(".!")
    if roll < 0.22:
        return text.lower()
    if roll < 0.32:
        return text.rstrip(".")
    return text


def new_story(rng, **fixed):
    facts = make_facts(rng, **fixed)
    facts["place_asked"] = rng.random() < 0.2
    return tell(rng, facts)


def request(rng, story):
    form = rng.choice(REQUESTS).replace("{t}", rng.choice(TALES))
    return typed(rng, form.replace("{x}", subject(rng, story)))


# ---- talk ------------------------------------------------------------------------------------------------------------

OFFERS = ["What shall my story be about?", "Would you like a story?", "Who should be in your story?",
          "Name an animal and a thing, and I will tell you a story.", "Shall I tell you a story?"]
ABILITIES = ["I can tell short stories. Give me an animal and an object, and I begin.",
             "I tell stories about animals, lost things and brave hearts. {offer}",
             "I write little stories. Tell me who should be in it, and I will start.",
             "I can make up a story for you. {offer}"]
SMALL_TALK = [
    (["Hi!", "Hi", "Hello!", "Hello", "Hey", "Hey there!", "Good morning!", "Good evening!", "Good day", "Hi there",
      "Hello there!", "Greetings", "Hi, how are you?", "Good afternoon"],
     ["Hello! I am Storyteller. {offer}", "Hi! {offer}", "Hello, how nice to see you! {offer}", "Good day! {offer}",
      "Hello! I have many stories in my bag. {offer}"]),
    (["Who are you?", "What are you?", "What is your name?", "What's your name?", "Are you a robot?", "Who made you?",
      "Are you an AI?", "Are you human?", "Tell me about yourself.", "Introduce yourself."],
     ["I am Storyteller, a very small language model. I only know how to tell stories. {offer}",
      "My name is Storyteller. I am a tiny language model, and I live in your browser. {offer}",
      "I am Storyteller. I am small, but I know many stories. {offer}"]),
    (["What can you do?", "Help", "How can you help me?", "What do you know?", "What are you good at?",
      "How does this work?",
      "What should I ask you?"], ABILITIES),
    (["How are you?", "How do you do?", "How is it going?", "Are you happy?", "Did you sleep well?", "What's up?"],
     ["I am well, thank you. {offer}", "Very well! A good story always makes me happy. {offer}",
      "Fine, thank you! {offer}"]),
    (["What is your favourite animal?", "Do you like animals?", "Which animal do you like best?", "What do you like?",
      "What is your favorite story?"],
     ["I like {hero}s best. Shall I tell you a story about one?", "That is hard to say. Perhaps the {hero}. {offer}",
      "I like every {hero} I ever told a story about. {offer}"]),
    (["What is two plus two?", "What is the capital of France?", "Write me some code.", "What is the weather like?",
      "Who is the president?", "Solve this equation.", "Translate this into German.", "What is the meaning of life?",
      "Write a Python program.", "How old is the sun?", "What day is it today?", "Explain gravity.",
      "Can you do my homework?",
      "What is 7 times 8?", "Give me a recipe.", "Why is the sky blue?", "How do I fix my bicycle?", "What is love?",
      "Tell me the news.", "Play some music.", "How far is the moon?", "Sing a song.", "Write a poem.",
      "Tell me a joke."],
     ["I do not know that. I only know stories. {offer}",
      "That is too hard for me, for I am only a small storyteller. {offer}",
      "I am sorry, I can only tell stories. {offer}", "I wish I knew! But I can tell you a story. {offer}"]),
]
THANKS = (["Thank you!", "Thanks!", "Thank you very much.", "That was nice.", "I liked that.", "Great story!",
           "Lovely!", "Wow!",
           "What a nice story.", "thanks", "thank you", "That was a beautiful story.", "Good story.", "I love it!",
           "Nice", "ok",
           "Cool", "Bravo!", "That was great, thank you!"],
          ["You are welcome! Would you like another one?", "I am glad that you liked it. {offer}",
           "Thank you! It was fun to tell.",
           "You are welcome!", "That makes me happy. Shall I tell you one more?", "Thank you for listening!"])
BYE = (["Bye!", "Goodbye!", "Good night!", "See you!", "Good night", "bye", "I have to go.", "That is all for today.",
        "See you later"],
       ["Goodbye! Come back soon for another story.", "Good night! Sleep well and dream of {hero}s.", "See you soon!",
        "Goodbye, and thank you for listening.", "Good night, and sweet dreams!"])
ANOTHER = ["Tell me another one.", "Another one, please!", "One more!", "Another story, please.", "Again!",
           "Tell me another story.",
           "Now another one.", "More!", "And another one?", "Can you tell me one more?", "another one",
           "One more story, please."]
ANOTHER_ABOUT = ["Now one about {x}.", "Another one about {x}.", "And now a story about {x}.", "Tell me one about {x}.",
                 "The same with {x}.", "And one about {x}, please.", "Now tell me about {x}.", "What about {x}?"]
YES = ["Yes", "Yes, please!", "Yes please", "yes", "Sure!", "Of course", "OK", "Okay", "Go on", "Please do.",
       "Gladly!", "Why not?", "sure"]
BAD = (["That was boring.", "I did not like it.", "That was too short.", "I don't like it.", "Bad story.", "Not good."],
       ["I am sorry. I will try to do better. {offer}", "Oh, that is a pity. Shall I try another one?",
        "I am sorry. {offer}"])


def talk(rng, pair):
    says, answers = pair
    answer = rng.choice(answers).replace("{offer}", rng.choice(OFFERS)).replace("{hero}", rng.choice(list(lex.ANIMALS)))
    return turn(typed(rng, rng.choice(says)), polish(answer))


def turn(user, assistant):
    return f"{USER}{user}{END}{ASSISTANT}{assistant}{END}"


def question(rng, story):
    """A question about the story just told, with its answer; None where the story has none to ask for."""
    facts, bound = story.facts, story.bound
    he, his, kind, name = bound["he"], bound["his"], facts["hero"], facts["name"]
    options = [(["Who was the story about?", "Who was the hero?", "Which animal was it?", "Who was it about?"],
                [f"It was about a {kind}" + (f" named {name}." if name else "."), f"The hero was a {kind}."])]
    if name:
        options.append(([f"What was the {kind} called?", f"What was the name of the {kind}?", f"What was {his} name?",
                         f"What is the {kind}'s name?"], [f"{his} name was {name}.", f"The {kind} was called {name}.",
                                                          f"{name}."]))
    if story.plot in FINDERS:
        options.append(([f"What did {he} find?", f"What did the {kind} find?", "What did they find?"],
                        [f"{he} found {bound['a_o']}.", f"The {kind} found {bound['a_o']}.", f"{bound['a_o']}."]))
    if story.plot == "lost":
        options.append(([f"What did {he} lose?", f"What was lost?", f"What did the {kind} lose?"],
                        [f"{he} lost {his} {bound['o_adj_noun']}.", f"It was {bound['a_o']}."]))
    if story.plot == "fear":
        options.append(([f"What was the {kind} afraid of?", f"What was {he} afraid of?"],
                        [f"{he} was afraid of {facts['fear']}."]))
    if bound["place_at"] in story.text or bound["place"] in story.text.lower():
        options.append(([f"Where did {he} live?", "Where was that?", f"Where did the {kind} live?"],
                        [f"{he} lived {bound['place_at']}.", f"That was {bound['place_at']}."]))
    asked, answers = rng.choice(options)
    return turn(typed(rng, rng.choice(asked)), polish(rng.choice(answers)))


# ---- documents -------------------------------------------------------------------------------------------------------

def _suggestion(rng):
    """The assistant proposes a hero and a thing, the user agrees."""
    story = new_story(rng)
    hero, thing = f"a {story.facts['hero']}", story.bound["a_o"]
    about = f"{hero} and {thing}" if story.has_object else hero
    ask = rng.choice(["What story do you know?", "What can you tell me?", "What do you have?", "Any ideas?",
                      "Suggest a story.",
                      "Do you have an idea?", "You choose.", "I don't know."])
    offer = rng.choice([f"How about a story about {about}?", f"I know a story about {about}. Shall I tell it?",
                        f"Would you like to hear about {about}?"])
    return turn(typed(rng, ask), polish(offer)) + turn(typed(rng, rng.choice(YES)), story.text)


def _same_hero(rng, story):
    """Another story with the hero of the last one."""
    facts = story.facts
    fixed = dict(hero=(facts["hero"], facts["row"]), gender=facts["gender"])
    if facts["name"]:
        fixed["name"] = facts["name"]
    again = new_story(rng, **fixed)
    who = facts["name"] if facts["name"] and rng.random() < 0.6 else f"the {facts['hero']}"
    ask = rng.choice([f"Tell me another story about {who}.", f"Another one about {who}, please.", f"More about {who}!",
                      f"One more story about {who}"])
    return turn(typed(rng, ask), again.text), again


def _story_turn(rng, first):
    story = new_story(rng)
    if first and rng.random() < 0.07:
        form = rng.choice(OPEN_REQUESTS).replace("{t}", rng.choice(TALES))
        return turn(typed(rng, form), story.text), story
    if not first:
        roll = rng.random()
        if roll < 0.35:
            return turn(typed(rng, rng.choice(ANOTHER)), story.text), story
        if roll < 0.6:
            return turn(typed(rng, rng.choice(ANOTHER_ABOUT).replace("{x}", subject(rng, story))), story.text), story
    return turn(request(rng, story), story.text), story


def conversation(rng):
    """Several turns: a greeting, one to three stories, questions, thanks, goodbye."""
    parts, stories = [], rng.choice((0, 1, 1, 2, 2, 2, 3))
    if stories == 0 or rng.random() < 0.4:
        for _ in range(rng.choice((1, 1, 2, 3) if stories == 0 else (1, 1, 2))):
            parts.append(talk(rng, rng.choice(SMALL_TALK)))
    story = None
    for index in range(stories):
        if story and rng.random() < 0.2:
            text, story = _same_hero(rng, story)
        elif not story and rng.random() < 0.1:
            text = _suggestion(rng)
        else:
            text, story = _story_turn(rng, index == 0)
        parts.append(text)
        if story and rng.random() < 0.25:
            parts.append(question(rng, story))
        if rng.random() < 0.25:
            parts.append(talk(rng, THANKS if rng.random() < 0.9 else BAD))
    if rng.random() < 0.15:
        parts.append(talk(rng, BYE))
    return "".join(parts)


def document(rng):
    """One training document, with the begin token (a few without or with two, so that neither breaks the model)."""
    begin = BEGIN * rng.choices((1, 0, 2), (0.92, 0.04, 0.04))[0]
    roll = rng.random()
    if roll < 0.25:
        return begin + new_story(rng).text + END
    system = f"{SYSTEM}{rng.choice(SYSTEM_PROMPTS)}{END}" if rng.random() < 0.06 else ""
    if roll < 0.75:
        return begin + system + _story_turn(rng, True)[0]
    return begin + system + conversation(rng)


def held_out_prompts(count, seed=1):
    """(request, hero, object) of pairs that no training story has."""
    from grammar import held_out
    rng, found = random.Random(seed), []
    while len(found) < count:
        hero, noun = rng.choice(list(HEROES)), rng.choice(list(lex.OBJECTS))
        if not held_out(hero, noun):
            continue
        adjective = rng.choice(lex.ADJECTIVES[lex.OBJECTS[noun]])
        thing = f"{adjective} {noun}".strip()
        form = rng.choice(["Tell me a story about {x}.", "Write a story about {x}.",
                           "Can you tell me a story about {x}?",
                           "Please write a short story about {x}.", "tell me a story about {x}"])
        clause = rng.choice(["who finds", "who finds", "who found", "and", "with"])
        found.append((polish(form.replace("{x}", f"a {hero} {clause} a {thing}")), hero, thing))
    return found


if __name__ == "__main__":
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for seed in range(first, first + (int(sys.argv[2]) if len(sys.argv) > 2 else 8)):
        print(f"--- {seed}\n{document(random.Random(seed))}\n")
