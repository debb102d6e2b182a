"""`odradek completion`: scripts with which a shell completes commands, options, settings, topics and groups.

The script calls `odradek completion words` for the candidates, so a new version needs no new script.
"""

from odradek.base.errors import OdradekError
from odradek.cli.command_line import HELP, Argument, Command, Group, Options, option, positional
from odradek.cli.main import MODULES, find

SCRIPTS = {
    # Readline also splits words at = and :, and replaces only the part after them: that prefix is removed
    # from each candidate.
    "bash": """\
_odradek() {
    local current="${COMP_WORDS[COMP_CWORD]}" found
    COMPREPLY=()
    while IFS= read -r found; do
        if [ "$found" = "<file>" ]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$current")
        else
            COMPREPLY+=("$(printf '%q' "$found")")
        fi
    done < <(odradek completion words "--line=${COMP_LINE:0:COMP_POINT}" "--tail=$current" 2>/dev/null)
    if [[ "${COMPREPLY[0]}" == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _odradek odradek""",
    "zsh": """\
#compdef odradek
_odradek() {
    local -a found
    found=("${(@f)$(odradek completion words -- "${(@Q)words[2,$CURRENT]}" 2>/dev/null)}")
    if [[ "${found[1]}" == "<file>" ]]; then _files
    elif [[ "${found[1]}" == *= ]]; then compadd -S '' -- ${found}
    else compadd -- ${found}; fi
}
if [[ "${funcstack[1]}" == _odradek ]]; then _odradek "$@"; else compdef _odradek odradek; fi""",
    "fish": """\
function __odradek
    set -l given (commandline -opc)
    set -e given[1]
    set -l found (odradek completion words -- $given (commandline -ct) 2>/dev/null)
    if test "$found" = "<file>"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c odradek -f -a '(__odradek)'""",
}
FILE_WORD = "<file>"
# Completion waits only this long for the cluster.
TIMEOUT_MS = 1000


def words(options: Options) -> None:
    """Print the candidates for the last word, one per line."""
    if options.line is None:
        for candidate in candidates(options.words):
            print(candidate)
        return
    _, *given = words_of(options.line)
    cut = given[-1].removesuffix(options.tail) if given else ""
    for candidate in candidates(given):
        print(candidate.removeprefix(cut))


def words_of(line: str) -> list[str]:
    """The words of a line as a shell splits it; the last is empty after a blank, or may be half-typed."""
    import shlex

    for closing in ("", "'", '"'):
        try:
            given = shlex.split(f"{line}{closing}")
        except ValueError:
            continue
        is_new = not closing and line[-1:].isspace() and not line.endswith("\\ ")
        return [*given, ""] if is_new or not given else given
    return [line]


def candidates(given: list[str]) -> list[str]:
    """The candidates for the last word, which may be empty."""
    *before, last = given or [""]
    return [one for one in _possible(before, last) if one == FILE_WORD or one.startswith(last)]


def _possible(before: list[str], last: str) -> list[str]:
    if not before:
        return [*MODULES, "--version", "--help"]
    try:
        _, found, rest = find(before)
    except OdradekError:
        return []
    if isinstance(found, Group):
        return [*(one.name for one in found.commands), "--help"] if not rest else []
    known = {name: one for one in (*found.arguments, HELP) if one.is_option for name in one.names}
    previous = known.get(rest[-1]) if rest else None
    if previous is not None and previous.metavar and not (previous.implied and last.startswith("-")):
        return _values(previous, rest)
    name, equals, _ = last.partition("=")
    if equals and name in known:
        return [f"{name}={value}" for value in _values(known[name], rest) if value != FILE_WORD]
    if last.startswith("-"):
        return [name for name in known if name.startswith("--")]
    return _values_of_word(found, rest, known)


def _values_of_word(command: Command, rest: list[str], known: dict[str, Argument]) -> list[str]:
    """The values of the positional argument that comes next."""
    given, is_value = [], False
    for word in rest:
        option = known.get(word)
        if is_value or option is not None:
            is_value = not is_value and option is not None and bool(option.metavar)
            continue
        if not word.startswith("-"):
            given.append(word)
    positionals = [one for one in command.arguments if not one.is_option]
    place = len(given)
    if positionals and positionals[-1].many:
        place = min(place, len(positionals) - 1)
    if place >= len(positionals):
        return []
    one = positionals[place]
    if one.completes == "named":  # `configs describe topic NAME`
        return _names(given[0], rest) if given else []
    if one.completes.startswith("setting"):  # `configs set topic NAME SETTING=VALUE`
        return [name for name in _settings(f"{one.completes} of {given[0]}") if name not in given]
    return [value for value in _values(one, rest) if value not in given]


def _values(one: Argument, rest: list[str]) -> list[str]:
    if one.choices:
        return list(one.choices)
    if one.completes == "file":
        return [FILE_WORD]
    if one.completes.startswith("setting"):
        return _settings(one.completes)
    return _names(one.completes, rest)


def _settings(which: str) -> list[str]:
    """The names of the settings of a kind of thing; with "=" where a value is to follow."""
    from odradek.base.settings import BROKER_SETTINGS
    from odradek.base.settings.group import GROUP_SETTINGS
    from odradek.base.settings.topic import TOPIC_SETTINGS

    end = "=" if which.startswith("setting=") else ""
    kind = which.rpartition(" ")[2]
    known = {"topic": TOPIC_SETTINGS, "group": GROUP_SETTINGS, "broker": BROKER_SETTINGS}.get(kind, {})
    return [f"{name}{end}" for name in known]


def _names(of: str, rest: list[str]) -> list[str]:
    """The names of the cluster's topics or groups; none if it does not answer in time."""
    if of not in ("topic", "group"):
        return []
    from dataclasses import replace

    from odradek.cli.command_line import parse
    from odradek.cli.connecting import CONNECTION, client_config
    from odradek.client.administering import administering

    connecting = Command("", "", words, CONNECTION)
    try:
        given = parse("", connecting, _only(CONNECTION, rest))
        config = replace(
            client_config(given), request_timeout_ms=TIMEOUT_MS, default_api_timeout_ms=TIMEOUT_MS
        )
        with administering(config) as admin:
            if of == "topic":
                from odradek.client.core.admin.topics import list_topics

                return admin.carry_out(list_topics())
            from odradek.client.core.admin.groups import list_groups_there

            groups, _ = admin.carry_out(list_groups_there())
            return [group.group for group in groups]
    except OdradekError:
        return []


def _only(options: tuple[Argument, ...], rest: list[str]) -> list[str]:
    """Returns the words of a command line that set these options, with their values."""
    names = {name for one in options for name in one.names}
    found = []
    for place, word in enumerate(rest):
        if word in names:
            found += rest[place : place + 2]
        elif word.partition("=")[0] in names:
            found.append(word)
    return found


def _script_command(shell: str, how: str) -> Command:
    def run(options: Options) -> None:
        print(SCRIPTS[shell])

    return Command(shell, f"Print the script for {shell}.", run, details=how)


GROUP = Group(
    "completion",
    "Print the completion script of a shell.",
    (
        _script_command("bash", 'Add this line to ~/.bashrc: eval "$(odradek completion bash)"'),
        _script_command("zsh", 'Add this line to ~/.zshrc, after compinit: eval "$(odradek completion zsh)"'),
        _script_command(
            "fish", "Write it to a file: odradek completion fish > ~/.config/fish/completions/odradek.fish"
        ),
        Command(
            "words",
            "Print what the last of some words may become; the scripts ask this.",
            words,
            (
                positional("words", "the words after 'odradek'", metavar="WORD", many=True, required=False),
                option("--line", help="the whole line instead, as far as it is typed", metavar="LINE"),
                option("--tail", help="with --line: what the shell replaces", metavar="TEXT", default=""),
            ),
        ),
    ),
)
