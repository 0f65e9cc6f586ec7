#!/usr/bin/env python3
"""Writes tests/fixtures/templates/filters.json: what Python's jinja2 makes of filters of texts.

`wordwrap`, `pprint`, `xmlattr`, `urlize` and `filesizeformat` over random values, made from a seed, with the settings of
`apply_chat_template` of `transformers`. What jinja2 refuses is written as null.

    pip install jinja2==3.1.6
    python tools/make_template_filters.py [COUNT [SEED]]
"""

import json
import pathlib
import random
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/templates/filters.json"
WORDS = [
    "a", "it's", "hedgehog", "well-known", "e-mail", "a-b", "--option", "one--two", "self-made-man", "x", "Donaudampfschiff",
    "ÄÖü-ß", "😀😀", "3-4", "pre-2000s", "(that)", "...", "-", "---", "end.", "state—of", "a1-b2", "ab-cd-ef", "\"q\"--r", "x-y-z",
]
SPACES = [" ", " ", " ", "  ", "\n", "\t", "\r\n", "\n\n", "\u00a0", "\u2028", " \n "]
ADDRESSES = [
    "https://example.com", "http://example.com/a?b=1&c=2#d", "www.example.com", "example.org", "(https://a.de/x_(y))", "foo.bar",
    "me@example.com", "mailto:me@example.com", "@me@example.com", "<https://example.com>", "https://example.com.", "http://1.2.3.4:80/x",
    "http://[::1:2:3]/", "ftp://example.com", "xmpp:me", "HTTPS://EXAMPLE.COM", "a.b.museum", "https://münchen.de/ä", "\"www.a.bc\"",
    "www.example.com,", "https://ex.com)))", "((www.a.com)", "mailto:me", "a@b", "https://", "http://a", "www.-.de", "x%y.com", "é@é.fr",
]
NUMBERS = [0, 1, 1.0, -5.5, 2, 999, 999.9, 1000, 1024, 1050, 1250, 1e6, 123456789, 1e15, 1e24, 1e27, 1e30, 0.5, "12345", "1e4", "x", 10**20, True]
VALUES = [None, True, 1, -2.5, 1e16, "", "a", "it's", "a\nb", "ä 😀", [], {}, (), (1,), [1, [2, [3]]], {"b": 1, "a": {"d": [None], "c": 2}}, {2: 1, "x": 0}]


def text(rng, words, most):
    return "".join(rng.choice(words) + rng.choice(SPACES) for _ in range(rng.randint(0, most)))


def value(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([*VALUES, text(rng, WORDS, 30), text(rng, WORDS, 8), rng.randint(-10, 10**12)])
    kind = rng.choice([list, tuple, dict])
    items = [value(rng, depth - 1) for _ in range(rng.randint(0, 6))]
    if kind is dict:
        return {rng.choice([text(rng, WORDS, 2), rng.randint(0, 99), rng.choice(WORDS)]): item for item in items}
    return kind(items)


def case(rng):
    choose = rng.choice
    name = choose(["wordwrap", "wordwrap", "pprint", "pprint", "xmlattr", "urlize", "urlize", "filesizeformat"])
    if name == "wordwrap":
        width = choose(["", "5", "1", "12", "20", "width=30", "0", "79", "-1"])
        rest = [choose(["", "", "break_long_words=false"]), choose(["", "", "break_on_hyphens=false"]), choose(["", "", "wrapstring='|'"])]
        return text(rng, WORDS, 40), f"wordwrap({', '.join(filter(None, [width, *rest]))})"
    if name == "pprint":
        return value(rng, 3), "pprint"
    if name == "xmlattr":
        names = ["class", "id", "data-x", "a b", "a=b", "ü", "<", "a/b", "'"]
        return {choose(names[:4] if rng.random() < 0.9 else names): choose([*VALUES, "<b>&\"'"]) for _ in range(3)}, choose(["xmlattr", "xmlattr(false)"])
    if name == "urlize":
        options = ["", "10", "nofollow=true", "target='_blank'", "rel='me & you'", "extra_schemes=['ftp:', 'xmpp:']", "5, true, 'x', 'b a'", "extra_schemes=['f']"]
        return text(rng, ADDRESSES + ADDRESSES + WORDS + ["&lt;", "<b>"], 8), f"urlize({choose(options)})"
    return choose(NUMBERS + [rng.random() * 10 ** rng.randint(0, 28)]), choose(["filesizeformat", "filesizeformat(true)"])


def literal(found):
    """A value as it stands in a template."""
    if isinstance(found, str):
        return json.dumps(found, ensure_ascii=False).replace("\\u00a0", "\u00a0")
    if isinstance(found, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in found.items()) + "}"
    if isinstance(found, tuple):
        return "(" + "".join(f"{literal(item)}, " for item in found) + ")"
    if isinstance(found, list):
        return "[" + ", ".join(literal(item) for item in found) + "]"
    return {None: "none", True: "true", False: "false"}[found] if found is None or isinstance(found, bool) else repr(found)


def main():
    count, seed = (int(each) for each in [*sys.argv[1:], *["600", "1"][len(sys.argv) - 1 :]])
    rng, cases = random.Random(seed), {}
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    while len(cases) < count:
        given, pattern = case(rng)
        source = "{{ " + f"{literal(given)} | {pattern}" + " }}"
        try:
            cases[source] = environment.from_string(source).render()
        except Exception:
            cases[source] = None
    OUT.write_text(json.dumps(list(cases.items()), ensure_ascii=False, separators=(",\n", ": ")) + "\n")


if __name__ == "__main__":
    main()
