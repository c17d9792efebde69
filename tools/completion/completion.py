"""Writes shell completion for a tool of weft from what its --help says: completion.py bash|zsh NAME PROGRAM."""
import re
import subprocess
import sys

# "  -n,--ranks N    ranks of the job", and lines that go on further to the right.
OPTION = re.compile(r"^  ((?:-\w,)?--[\w-]+)(?: ([A-Z][\w,]*))?(?:  +(.*))?$")
# "(random, near or sticky)"
CHOICES = re.compile(r"\(((?:[\w-]+, )*[\w-]+ or [\w-]+)\)")


def options_of(help_text):
    """[(names, word for the value or "", description)] of the options that a help text lists."""
    found = []
    for line in help_text.splitlines():
        if match := OPTION.match(line):
            found.append([match[1].split(","), match[2] or "", match[3] or ""])
        elif found and re.match(r"^ {20,}\S", line):
            found[-1][2] = (found[-1][2] + " " + line.strip()).strip()
        elif found and line and not line.startswith(" "):
            break  # What follows the options: examples, explanations.
    return found


def choices_of(value, description):
    """The words that a value may be; none where it is a number or a name."""
    match = CHOICES.search(description) if value else None
    return re.split(r", | or ", match[1]) if match else []


def bash(name, options):
    function = "_" + name.replace("-", "_")
    lines = [f"# bash completion for {name}, written from its --help.", f"{function}() {{",
             "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}", "  case $before in"]
    for names, value, description in options:
        if words := choices_of(value, description):
            lines.append(f"    {'|'.join(names)}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")); return ;;")
        elif value in ("FILE", "DIRECTORY"):
            lines.append(f"    {'|'.join(names)}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;")
        elif value:
            lines.append(f"    {'|'.join(names)}) COMPREPLY=(); return ;;")
    every = " ".join(name for names, _, _ in options for name in names if name.startswith("--"))
    lines += ["  esac", f"  [[ $word == -* ]] && COMPREPLY=($(compgen -W '{every}' -- \"$word\"))", "}",
              f"complete -o default -F {function} {name}", ""]
    return "\n".join(lines)


def zsh(name, options):
    lines = [f"#compdef {name}", f"# zsh completion for {name}, written from its --help.", "_arguments \\"]
    for names, value, description in options:
        said = re.sub(r"([\[\]:'])", r"\\\1", description).replace("'", "'\\''")
        words = choices_of(value, description)
        action = f"({' '.join(words)})" if words else "_files" if value in ("FILE", "DIRECTORY") else " "
        for one in names:
            lines.append(f"  '{one}[{said}]{f':{value}:{action}' if value else ''}' \\")
    return "\n".join(lines + ["  '*:file:_files'", ""])


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("bash", "zsh"):
        sys.exit(__doc__)
    text = subprocess.run([sys.argv[3], "--help"], capture_output=True, text=True, check=True).stdout
    options = options_of(text)
    if not options:
        sys.exit(f"completion.py: {sys.argv[3]} --help lists no options")
    print({"bash": bash, "zsh": zsh}[sys.argv[1]](sys.argv[2], options), end="")


main()
