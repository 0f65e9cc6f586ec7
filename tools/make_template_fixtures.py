#!/usr/bin/env python3
"""Writes tests/fixtures/templates/expected.json: what `transformers` makes of chat templates.

It is asked below `apply_chat_template`, where the text is made, with a fixed date. Rendered are the templates of this project beside
that file and, when the folder is given, templates of real models: those are not part of this project, so only their
results are written, under their name and sha256. Of the templates in a second folder the results are digests, in
digests.json; `models/templates` of llama.cpp is one with some 70.

    pip install transformers==4.57.6 jinja2==3.1.6
    python tools/make_template_fixtures.py [FOLDER_OF_REAL_TEMPLATES [FOLDER_OF_MORE]]
"""

import copy
import datetime
import hashlib
import json
import pathlib
import sys

import jinja2
import transformers
from transformers.utils import chat_template_utils

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

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a place \"now\".",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Town & country, für Ä"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "nullable": True},
                "at": {
                    "type": "object",
                    "description": "a point",
                    "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
                    "required": ["lat", "lon"],
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["place"],
        },
    },
}
PING = {
    "type": "function",
    "function": {"name": "ping", "description": "Answers.", "parameters": {"type": "object", "properties": {}}},
}


def call(identifier, name, arguments):
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*tool_calls, **further):
    return {"role": "assistant", "content": None, **further, "tool_calls": list(tool_calls)}


def result(identifier, name, content):
    return {"role": "tool", "tool_call_id": identifier, "name": name, "content": content}


PARIS = {"place": "Paris", "days": 3, "at": {"lat": 48.85, "lon": 2.0e-7}, "tags": ["a", "é\n"], "live": True, "x": None}
CALLED = [message("user", "How is it in Paris?"), calls(call("abcdefghi", "get_weather", PARIS))]
ANSWERED = [*CALLED, result("abcdefghi", "get_weather", '{"sky": "blue"}')]
TOOL_CASES = {
    "tools": {"messages": ONE, "tools": [WEATHER, PING]},
    "tools and system": {"messages": [SYSTEM, *TURNS], "tools": [WEATHER]},
    "a call": {"messages": CALLED, "tools": [WEATHER], "addGenerationPrompt": False},
    "a result": {"messages": ANSWERED, "tools": [WEATHER, PING]},
    "a result without tools": {"messages": ANSWERED},
    "an answer after a result": {
        "messages": [*ANSWERED, message("assistant", "Blue."), message("user", "And now?")],
        "tools": [WEATHER],
    },
    "calls at once": {
        "messages": [
            ONE[0],
            calls(call("abcdefghi", "get_weather", {"place": "Rome"}), call("abcdefghj", "ping", {})),
            result("abcdefghi", "get_weather", "sun"),
            result("abcdefghj", "ping", "pong"),
        ],
        "tools": [WEATHER, PING],
    },
    "reasoning before a call": {
        "messages": [ONE[0], calls(call("abcdefghi", "ping", {}), reasoning_content="Let me see.")],
        "tools": [PING],
        "addGenerationPrompt": False,
    },
    "thinking": {"messages": ONE, "variables": {"enable_thinking": True, "thinking": True}},
    "no thinking": {"messages": ONE, "tools": [PING], "variables": {"enable_thinking": False, "thinking": False}},
    "other variables": {
        "messages": TURNS,
        "tools": [PING],
        "variables": {"keep_past_thinking": True, "date_string": "1 May 2025", "tools_in_user_message": False},
    },
}


ALL_CASES = {
    **{name: {"messages": m, "addGenerationPrompt": p} for name, (m, p) in CASES.items()},
    **TOOL_CASES,
}


class Fixed(datetime.datetime):
    """What `datetime.now()` of the template module gives."""

    @classmethod
    def now(cls, tz=None):
        return cls(*NOW.timetuple()[:6])


def forms(messages):
    """The messages, and where a template refuses them: what it may want instead, as `Conversation::forms` has it."""

    def form(text_arguments, text_content):
        changed = copy.deepcopy(messages)
        for each in changed:
            if text_content and each["content"] is None:
                each["content"] = ""
            for one in each.get("tool_calls", []) if text_arguments else []:
                one["function"]["arguments"] = json.dumps(one["function"]["arguments"], ensure_ascii=False)
        return changed

    return [form(False, False), form(False, True), form(True, False), form(True, True)]


def render_one(source, case):
    first = None
    for messages in forms(case["messages"]):
        try:
            texts, _ = chat_template_utils.render_jinja_template(
                conversations=[messages],
                tools=case.get("tools"),
                chat_template=source,
                add_generation_prompt=case.get("addGenerationPrompt", True),
                **TOKENS,
                **case.get("variables", {}),
            )
            return {"text": texts[0]}
        except jinja2.exceptions.TemplateError as error:
            first = first or {"error": error.message}
        except TypeError:  # of Python: text + None, for example
            first = first or {"error": ""}
    return first


def render(source):
    return {name: render_one(source, case) for name, case in ALL_CASES.items()}


def folder(path):
    return {
        file.name: {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "results": render(file.read_text())}
        for file in sorted(path.glob("*.jinja"))
    }


def main():
    chat_template_utils.datetime = Fixed
    out = HOME / "expected.json"
    known = json.loads(out.read_text())["shared"] if out.exists() else {}
    expected = {
        "made_by": f"tools/make_template_fixtures.py, transformers {transformers.__version__}, jinja2 {jinja2.__version__}",
        "tokens": TOKENS,
        "cases": ALL_CASES,
        "own": folder(HOME),
        "shared": folder(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else known,
    }
    out.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")
    if len(sys.argv) > 2:
        write_digests(pathlib.Path(sys.argv[2]))


def write_digests(path):
    """Of each template, under its digest: the digest of each case's text, nothing where it is refused."""
    digests = {}
    for file in sorted(path.glob("*.jinja")):
        try:
            results = render(file.read_text())
        except Exception as error:  # it does not compile, or does what a sandbox forbids
            print(f"left out {file.name}: {error}")
            continue
        texts = [results[name].get("text") for name in ALL_CASES]
        digests[digest(file.read_bytes(), 16)] = " ".join("-" if t is None else digest(t.encode(), 10) for t in texts)
    (HOME / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


def digest(data, length):
    return hashlib.sha256(data).hexdigest()[:length]


if __name__ == "__main__":
    main()
