#!/usr/bin/env python3
"""Writes tests/fixtures/templates/expressions.json: what Python's jinja2 makes of random templates.

Each is a few expressions and statements over random values, made from a seed, and rendered with the settings of
`apply_chat_template` of `transformers`. What jinja2 refuses is left out.

    pip install transformers==4.57.6 jinja2==3.1.6
    python tools/make_template_expressions.py [COUNT [SEED [OUT]]]
"""

import copy
import datetime
import json
import pathlib
import random
import re
import signal
import sys
import warnings

from transformers.utils.chat_template_utils import _compile_jinja_template

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/templates/expressions.json"
NOW = datetime.datetime(2026, 3, 4, 5, 6, 7)
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": " Hi\nthere, ÄÖ 😀! "},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYo"},
]
#: Texts as they stand in a template.
TEXTS = [
    "''", "'a'", "'abc'", "'abcabc'", "' a b  c '", "'Hello World'", "'a,b,,c'", "'x\\ny\\n'", "'\\r\\nq\\x0bz'", "'ÄÖü'",
    "'ß'", "'😀a😀'", "'12'", "' -7 '", "'1.5'", "'1e3'", "'0x1f'", "'nan'", "\"it's\"", "'\"'", "'{}-{}'", "'%s-%s'",
    "'a\\tb'", "'\\ufeffa'", "'\\xa0b\\x85'", "'\\u2028'", "'they\\'re o\\'neil'", "'A-b c'", "'_x1'", "'²'", "'aaaa'",
    "'<think>\\nhm\\n</think>\\n\\nYo'", "'<b>&'", "'a.b'", "'\\\\'", "'\\x00'", "'😀' ~ '\\uffee'",
]
NUMBERS = [
    "0", "1", "2", "3", "-1", "-2", "7", "10", "255", "1000", "0.5", "1.0", "-0.0", "2.5", "-3.7", "1e16", "1e-5", "0.1",
    "1e22", "123456.789", "9007199254740993", "12345678901234567890", "1_000", "0x1f", "0b11", "1e308", "3.0",
]
OTHERS = [
    "none", "true", "false", "nothing", "[]", "{}", "()", "(1,)", "[1, 2, 3]", "[3, 1, 2]", "['b', 'A', 'c']", "(1, 'a')",
    "[[1, 2], [3]]", "{'a': 1}", "{'b': 2, 'a': [1, none]}", "{1: 'x', 2.0: 'y', true: 'z'}", "[none, true, 1.0, 'é']",
    "[{'a': 1, 'b': 'x'}, {'a': 2}]", "range(4)", "range(5, 0, -2)", "messages", "messages[0]", "messages[1].content",
    "[1, 1.0, true, 2]", "['a', 'B', 'a', 'b']", "[0.1, 0.2]", "{'a': {'b': {'c': 1}}}", "[('a', 1), ('b', 2)]", "[[]]",
    "{(1, 2): 3}", "{none: 1, true: 2}", "{'a': 1}.items()", "{'a': 1}.keys()", "ns.a",
]
SLICED = ["[1, 2, 3, 4]", "(1, 'a', none)", "messages", "messages[1].content", "[]"]
ATTRIBUTES = ["'a'", "'b'", "'role'", "'content'", "'a.b'", "0", "'0'", "'x'"]
FILTERS = [
    "abs", "attr({t})", "batch({n}) | list", "batch({n}, {v}) | list", "capitalize", "center({n})", "count", "default({v})",
    "default({v}, true)", "d('q')", "dictsort", "dictsort(true)", "dictsort(by='value')", "dictsort(reverse=true)", "e",
    "first", "float", "float({v})", "format({v})", "format({v}, {v})", "groupby({a}) | list", "indent", "indent({n})",
    "indent({n}, true)", "indent({n}, true, true)", "indent('> ')", "int", "int({v})", "int(base=16)", "items | list",
    "join", "join({t})", "join(', ', attribute={a})", "last", "length", "list", "lower", "map({f}) | list",
    "map(attribute={a}) | list", "map(attribute={a}, default={v}) | list", "max", "min", "max(attribute={a})",
    "reject({is}) | list", "rejectattr({a}) | list", "rejectattr({a}, {is}) | list", "replace({t}, {t})",
    "replace({t}, {t}, {n})", "reverse", "reverse | list", "round", "round({n})", "round(1, 'floor')", "round(2, 'ceil')",
    "safe", "select({is}) | list", "select | list", "selectattr({a}) | list", "selectattr({a}, {is}) | list",
    "selectattr({a}, 'equalto', {v}) | list", "slice({n}) | list", "slice({n}, {v}) | list", "sort", "sort(reverse=true)",
    "sort(attribute={a})", "sort(case_sensitive=true)", "string", "sum", "sum(attribute={a})", "sum(start={v})", "title",
    "tojson", "tojson(indent={n})", "tojson(ensure_ascii=true)", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))",
    "trim", "trim({t})", "truncate({n})", "truncate({n}, true)", "truncate({n}, false, '~', 0)", "unique | list",
    "unique(true) | list", "upper", "urlencode", "wordcount",
]
METHODS = [
    "capitalize()", "casefold()", "center({n})", "center({n}, '*')", "count({t})", "count({t}, {n})", "count({t}, {n}, {n})",
    "endswith({t})", "endswith(({t}, {t}))", "endswith({t}, {n}, {n})", "expandtabs({n})", "find({t})", "find({t}, {n})",
    "find({t}, {n}, {n})", "index({t})", "isalnum()", "isalpha()", "isascii()", "isdecimal()", "isdigit()",
    "isidentifier()", "islower()", "isnumeric()", "isprintable()", "isspace()", "istitle()", "isupper()", "join({v})",
    "ljust({n})", "ljust({n}, '.')", "lower()", "lstrip()", "lstrip({t})", "partition({t})", "removeprefix({t})",
    "removesuffix({t})", "replace({t}, {t})", "replace({t}, {t}, {n})", "rfind({t})", "rfind({t}, {n})", "rindex({t})",
    "rjust({n})", "rpartition({t})", "rsplit()", "rsplit({t})", "rsplit({t}, {n})", "rsplit(none, {n})", "rstrip()",
    "rstrip({t})", "split()", "split({t})", "split({t}, {n})", "split(none, {n})", "split(maxsplit={n})", "splitlines()",
    "splitlines(true)", "startswith({t})", "startswith({t}, {n})", "strip()", "strip({t})", "swapcase()", "title()",
    "upper()", "zfill({n})", "get({v})", "get({v}, {v})", "items() | list", "keys() | list", "values() | list", "items()",
    "copy()", "format({v}, {v})", "format({v}, k={v})", "nothing", "a", "b", "role",
]
TESTS = [
    "defined", "undefined", "none", "boolean", "true", "false", "number", "integer", "float", "string", "mapping",
    "sequence", "iterable", "callable", "odd", "even", "divisibleby(2)", "lower", "upper", "in {v}", "eq({v})", "ne({v})",
    "lt({v})", "ge({v})", "equalto {v}", "escaped",
]
PLAIN_TESTS = ["'defined'", "'none'", "'string'", "'number'", "'odd'", "'mapping'", "'integer'", "'true'"]
PLAIN_FILTERS = ["'upper'", "'string'", "'length'", "'tojson'", "'int'", "'abs'", "'trim'", "'list'", "'first'"]
SPECS = ["", ":>6", ":<6", ":^7", ":*^9", ":05", ":+", ":,", ":.2f", ":.3", ":e", ":g", ":%", ":x", ":#x", ":b", ":10.3f",
         ":_", "!r", "!s:>8", ":s", ":.1%", ":08.2f", ": d", ":=+6", ":c", ":n", ":G", ":.0f", ":,.2f"]
PERCENTS = ["%s", "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%r", "%.2f", "%8.3f", "%e", "%g",
            "%G", "%c", "%.3s", "%5s", "%-6s|", "%%", "%i", "%.0f", "%010.2f", "%a", "%.3d", "%+.1e"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


class Maker:
    """Random parts of templates."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, items):
        return self.random.choice(items)

    def fill(self, pattern, depth):
        make = {"t": lambda: self.one(TEXTS), "n": lambda: str(self.random.randint(-3, 9)), "a": lambda: self.one(ATTRIBUTES),
                "v": lambda: self.value(depth - 1), "f": lambda: self.one(PLAIN_FILTERS), "is": lambda: self.one(PLAIN_TESTS)}
        return re.sub(r"\{(t|n|a|v|f|is)\}", lambda found: make[found[1]](), pattern)

    def value(self, depth):
        if depth <= 0 or self.random.random() < 0.35:
            return self.one(self.one([TEXTS, TEXTS, NUMBERS, OTHERS, OTHERS]))
        return self.one([self.filtered, self.filtered, self.called, self.called, self.operated, self.tested, self.subscripted,
                         self.chosen, self.listed, self.percent, self.braces])(depth)

    def inner(self, depth):
        found = self.value(depth - 1)
        return f"({found})" if re.search(r"\W", found) else found

    def filtered(self, depth):
        return f"{self.inner(depth)} | {self.fill(self.one(FILTERS), depth)}"

    def called(self, depth):
        pool = TEXTS if self.random.random() < 0.7 else OTHERS
        of = self.one(pool) if self.random.random() < 0.7 else self.inner(depth)
        return f"({of}).{self.fill(self.one(METHODS), depth)}"

    def operated(self, depth):
        sign = self.one(OPERATORS)
        right = self.one(["2", "0", "-1", "0.5", "3", "10"]) if sign == "**" else self.inner(depth)
        return f"{self.one(['', '', '', 'not ', '-'])}{self.inner(depth)} {sign} {right}"

    def tested(self, depth):
        return f"{self.inner(depth)} is {self.one(['', '', 'not '])}{self.fill(self.one(TESTS), depth)}"

    def subscripted(self, depth):
        number = lambda: self.one(["", "0", "1", "2", "-1", "-2", "5", "none"])
        index = self.one([f"{number() or 0}", f"{number()}:{number()}", f"{number()}:{number()}:{self.one(['1', '2', '-1', '-2'])}",
                          self.one(ATTRIBUTES)])
        # A slice of what has none is undefined where jinja2 knows the value as it compiles, else an error.
        return f"({self.one(TEXTS + SLICED)})[{index}]" if ":" in index else f"{self.inner(depth)}[{index}]"

    def chosen(self, depth):
        return f"{self.inner(depth)} if {self.inner(depth)} else {self.inner(depth)}"

    def listed(self, depth):
        return self.fill(self.one(["[{v}, {v}]", "({v}, {v})", "{'k': {v}, 'l': {v}}", "dict(k={v})", "[{v}] * 2"]), depth)

    def percent(self, depth):
        count = self.random.randint(1, 2)
        text = "".join(self.one(PERCENTS) for _ in range(count))
        wanted = len(re.findall(r"%[^%]*?[a-zA-Z]", text.replace("%%", "")))
        values = ", ".join(self.one(NUMBERS + NUMBERS + TEXTS + OTHERS) for _ in range(wanted))
        return f"'{text}' % ({values},)" if wanted else f"'{text}' % ()"

    def braces(self, depth):
        return f"'{{{self.one(['', '0'])}{self.one(SPECS)}}}'.format({self.one(NUMBERS + NUMBERS + TEXTS + OTHERS)})"

    def statement(self):
        value = lambda: self.value(2)
        tag = lambda text: "{%" + self.one(["", "", "-", "+"]) + f" {text} " + self.one(["", "", "-", "+"]) + "%}"
        space = lambda: self.one(["", " ", "\n", "  \n  ", "a\n", "\n  b"])
        show = lambda text: "{{" + self.one(["", "-"]) + f" {text} " + self.one(["", "-"]) + "}}"
        fields = ["loop.index", "loop.index0", "loop.revindex", "loop.revindex0", "loop.first", "loop.last", "loop.length",
                  "loop.previtem", "loop.nextitem", "loop.depth", "loop.cycle('x', 'y')", "loop.changed(i)", "i", "i | tojson"]
        forms = [
            lambda: f"{tag('for i in ' + value())}{space()}{show(self.one(fields))}{space()}{tag('else')}E{tag('endfor')}",
            lambda: f"{tag('for i in ' + self.one(OTHERS) + ' if i is ' + self.one(['defined', 'string', 'number', 'none']))}"
                    f"{show(self.one(fields))}{tag('endfor')}",
            lambda: f"{tag('for k, v in ' + self.one(OTHERS) + self.one(['', ' | items', ' | dictsort']))}{show('k ~ v')}"
                    f"{tag('endfor')}",
            lambda: f"{tag('if ' + value())}{space()}x{space()}{tag('elif ' + value())}{space()}y{tag('else')}z{space()}{tag('endif')}",
            lambda: f"{tag('set x = ' + value())}{space()}{show('x')}",
            lambda: f"{tag('set x')}{space()}{show(value())}{space()}{tag('endset')}[{show('x')}]{show('x | length')}",
            lambda: f"{tag('set ns = namespace(a=' + value() + ')')}{tag('for i in [1, 2]')}{tag('set ns.a = ns.a ~ i')}"
                    f"{tag('endfor')}{show('ns.a')}",
            lambda: f"{tag('macro m(a, b=' + value() + ')')}{space()}{show(self.one(['a', 'b', 'varargs', 'kwargs', 'a ~ b', 'caller()']))}"
                    f"{tag('endmacro')}{show('m(' + self.one(['', value(), value() + ', ' + value(), '1, 2, 3', 'b=1', 'a=1, c=2']) + ')')}",
            lambda: f"{tag('macro m()')}<{show('caller(' + self.one(['', '1', value()]) + ')')}>{tag('endmacro')}"
                    f"{tag('call' + self.one(['', '(x)', '(x=3)']) + ' m()')}{space()}{show('x')}{tag('endcall')}",
            lambda: f"{tag('filter ' + self.fill(self.one(FILTERS), 1))}{space()}Abc{space()}{tag('endfilter')}",
            lambda: f"{tag('with x = ' + value() + ', y = 2')}{show('x')}{tag('endwith')}{show('x')}",
            lambda: f"{tag('generation')}{space()}{tag('set g = 1')}{show('g')}{tag('endgeneration')}{space()}{show('g')}",
            lambda: f"{tag('for i in range(4)')}{space()}{tag('if i == 2')}{tag(self.one(['break', 'continue']))}{tag('endif')}"
                    f"{show('i')}{tag('endfor')}",
            lambda: f"{tag('raw')}{space()}" + "{{ x }}" + f"{space()}{tag('endraw')}{space()}",
            lambda: f"{space()}" + "{#" + self.one(["", "-"]) + " c " + self.one(["", "-", "+"]) + "#}" + f"{space()}",
            lambda: f"{tag('for i in [1, [2, [3]]] recursive')}{show('loop(i) if i is iterable else i')}{show('loop.depth')}{tag('endfor')}",
        ]
        return space() + self.one(forms)() + space()

    def template(self):
        if self.random.random() < 0.6:
            return "{{ " + self.value(3) + " }}"
        return "".join(self.statement() for _ in range(self.random.randint(1, 2)))


def late(*_):
    raise TimeoutError


def render(source):
    """The text; none where jinja2 refuses the template, or writes what is of no use here."""
    signal.signal(signal.SIGALRM, late)
    signal.alarm(2)
    try:
        template = _compile_jinja_template(source)
        template.globals["strftime_now"] = NOW.strftime
        text = template.render(messages=copy.deepcopy(MESSAGES), tools=None, documents=None, add_generation_prompt=True, bos_token="<s>",
                               eos_token="</s>")
    except Exception:
        return None
    finally:
        signal.alarm(0)
    # An address in memory, a complex number, and what is long.
    return None if re.search(r"0x[0-9a-f]{9,}|<(?:class|function|Loop|built-in|bound|Macro)|\dj\)", text[:500]) or len(text) > 500 else text


def main():
    warnings.simplefilter("ignore")
    count, seed = (int(each) for each in [*sys.argv[1:3], *["2000", "1"][len(sys.argv) - 1 :]][:2])
    out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else OUT
    maker, cases = Maker(seed), {}
    while len(cases) < count:
        source = maker.template()
        if source not in cases and (text := render(source)) is not None:
            cases[source] = text
    out.write_text(json.dumps({"messages": MESSAGES, "cases": list(cases.items())}, ensure_ascii=False, separators=(",\n", ": ")) + "\n")


if __name__ == "__main__":
    main()
