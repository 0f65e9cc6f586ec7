#!/usr/bin/env python3
"""Writes tests/fixtures/templates/expected.json: what Python's jinja2 makes of chat templates.

The environment is set up as Hugging Face's `apply_chat_template` does (sandboxed, trimmed blocks, loop controls, its
`tojson`, `raise_exception` and `strftime_now`), with a fixed date. Rendered are the templates of this project beside
that file and, when the folder is given, templates of real models: those are not part of this project, so only their
results are written, under their name and sha256.

    pip install jinja2==3.1.6
    python tools/make_template_fixtures.py [FOLDER_OF_REAL_TEMPLATES]
"""

import datetime
import hashlib
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

HOME = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/templates"
NOW = datetime.datetime(2026, 3, 4, 5, 6, 7)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def message(role, content):
    return {"role": role, "content": content}


ONE = [message("user", "Why is the sky blue?")]
TURNS = [
    message("user", "  Hi! \n"),
    message("assistant", '<think>\nA greeting.\n</think>\n\nHello, "you" & <b>me</b>! 🦙'),
    message("user", "Zwei Zeilen:\nÄpfel\n"),
    message("assistant", "\nGern.\n"),
    message("user", "Danke /no_think"),
]
SYSTEM = message("system", " Answer briefly,\nin rhyme. ")
CASES = {
    "one turn": (ONE, True),
    "one turn, no prompt": (ONE, False),
    "several turns": (TURNS, True),
    "several turns, ends with an answer": (TURNS[:4], False),
    "system": ([SYSTEM, *ONE], True),
    "system, several turns": ([SYSTEM, *TURNS], True),
    "system without thinking": ([message("system", "Be quick. /no_think"), *TURNS], True),
    "does not alternate": ([ONE[0], ONE[0]], True),
    "starts with the assistant": ([message("assistant", "Hello"), *ONE], True),
    "unknown role": ([message("critic", "No.")], True),
    "empty content": ([message("user", "")], True),
}


class Generation(jinja2.ext.Extension):
    """`{% generation %}` … `{% endgeneration %}`, which only marks text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def raise_exception(text):
        raise jinja2.exceptions.TemplateError(text)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(source):
    template = environment().from_string(source)
    results = {}
    for name, (messages, prompt) in CASES.items():
        try:
            text = template.render(
                messages=messages, tools=None, documents=None, add_generation_prompt=prompt, **TOKENS
            )
            results[name] = {"text": text}
        except jinja2.exceptions.TemplateError as error:
            results[name] = {"error": error.message}
    return results


def folder(path):
    return {
        file.name: {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "results": render(file.read_text())}
        for file in sorted(path.glob("*.jinja"))
    }


def main():
    out = HOME / "expected.json"
    known = json.loads(out.read_text())["shared"] if out.exists() else {}
    expected = {
        "made_by": f"tools/make_template_fixtures.py, jinja2 {jinja2.__version__}",
        "tokens": TOKENS,
        "cases": {name: {"messages": m, "add_generation_prompt": p} for name, (m, p) in CASES.items()},
        "own": folder(HOME),
        "shared": folder(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else known,
    }
    out.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
