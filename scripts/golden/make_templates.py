#!/usr/bin/python3
"""Writes tests/golden/chat_templates.json: what Jinja (Debian's python3-jinja2), set up as Hugging
Face does it, makes of chat templates. Our interpreter makes it again.

  scripts/golden/make_templates.py [--templates DIRECTORY --out FILE]

With a directory, its *.jinja are used instead of our own templates: for comparing with published
ones, which are not part of this repository (the test reads FILE from SHOAL_CHAT_TEMPLATES).

{"templates": {name: source},
 "cases": [{"name", "template": its name, "variables": {"messages", "bos_token", ..., "today"},
            "text": the prompt, or "error": what Jinja said}]}
"""
import argparse
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

import template_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Generation(jinja2.ext.Extension):
    """Hugging Face's {% generation %}: prints its body."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def environment(today):
    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    # Theirs is the immutable one; list.append, which it forbids, is in use all the same.
    made = jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = refuse
    date = datetime.datetime.fromisoformat(today)
    made.globals["strftime_now"] = date.strftime
    return made


def case(name, template, source, variables):
    variables = {**template_cases.COMMON, **variables}
    result = {"name": name, "template": template, "variables": variables}
    try:
        result["text"] = environment(variables["today"]).from_string(source).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError, ValueError) as error:
        result["error"] = str(error)
    return result


def family_cases(families):
    for family, source in families.items():
        for chat, messages in template_cases.CHATS.items():
            for variant, options in template_cases.VARIANTS.items():
                if variant == "no prompt" and chat != "answered":
                    continue
                yield case(f"{family}: {chat}, {variant}", family, source,
                           {"messages": messages, **options})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--templates", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "tests" / "golden" / "chat_templates.json")
    arguments = parser.parse_args()
    if arguments.templates:
        files = sorted(arguments.templates.glob("*.jinja"))
        templates = {file.name: file.read_text() for file in files}
        cases = list(family_cases(templates))
    else:
        constructs = {name: source for name, source, _ in template_cases.CONSTRUCTS}
        templates = {**template_cases.FAMILIES, **constructs}
        cases = list(family_cases(template_cases.FAMILIES))
        cases += [case(name, name, source, variables)
                  for name, source, variables in template_cases.CONSTRUCTS]
    sources = ",\n".join(f"{json.dumps(name)}: {json.dumps(source, ensure_ascii=False)}"
                         for name, source in templates.items())
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    arguments.out.write_text(
        '{"templates": {\n' + sources + '\n},\n"cases": [\n' + lines + "\n]}\n")
    print(f"{arguments.out}: {len(cases)} cases, "
          f"{sum('error' in each for each in cases)} of them refusals")


if __name__ == "__main__":
    main()
