"""`odradek completion`: scripts with which a shell completes commands, options, topics and groups.

The script asks `odradek completion words` for the words that may come next, so it need not be made anew.
"""

from odradek.base.errors import OdradekError
from odradek.cli.command_line import HELP, Argument, Command, Group, Options, positional
from odradek.cli.main import MODULES, find
from odradek.client.configuration import ClientConfig

SCRIPTS = {
    "bash": """\
_odradek() {
    local IFS=$'\\n'
    COMPREPLY=($(odradek completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    if [ "${#COMPREPLY[@]}" -eq 1 ] && [ "${COMPREPLY[0]}" = "<file>" ]; then
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -o filenames -F _odradek odradek""",
    "zsh": """\
#compdef odradek
_odradek() {
    local -a found
    found=("${(@f)$(odradek completion words -- "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    if [[ "${found[1]}" == "<file>" ]]; then _files; else compadd -- ${found}; fi
}
compdef _odradek odradek""",
    "fish": """\
function __odradek
    set -l found (odradek completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if test "$found" = "<file>"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c odradek -f -a '(__odradek)'""",
}
FILE_WORD = "<file>"
# The cluster answers soon or not at all.
TIMEOUT_MS = 1000


def words(options: Options) -> None:
    """Print what the last of the words may become, one candidate a line."""
    for candidate in candidates(options.words):
        print(candidate)


def candidates(given: list[str]) -> list[str]:
    """What the last word, which may be empty, may become."""
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
        return [one.name for one in found.commands]
    known = {name: one for one in (*found.arguments, HELP) if one.is_option for name in one.names}
    previous = known.get(rest[-1]) if rest else None
    if previous is not None and previous.metavar:
        return _values(previous)
    if last.startswith("-"):
        return [name for name in known if name.startswith("--")]
    return _values_of_word(found, rest, known)


def _values_of_word(command: Command, rest: list[str], known: dict[str, Argument]) -> list[str]:
    """The values of the positional argument that comes next."""
    place, is_value = 0, False
    for word in rest:
        option = known.get(word)
        if is_value or option is not None:
            is_value = not is_value and option is not None and bool(option.metavar)
            continue
        place += not word.startswith("-")
    positionals = [one for one in command.arguments if not one.is_option]
    if positionals and positionals[-1].many:
        place = min(place, len(positionals) - 1)
    return _values(positionals[place]) if place < len(positionals) else []


def _values(one: Argument) -> list[str]:
    if one.choices:
        return list(one.choices)
    if one.completes == "file":
        return [FILE_WORD]
    if not one.completes:
        return []
    import os

    from odradek.cli.connecting import SERVERS_VARIABLE
    from odradek.client.admin import Admin
    from odradek.client.group_admin import GroupAdmin

    servers = os.environ.get(SERVERS_VARIABLE) or ClientConfig().bootstrap_servers
    config = ClientConfig(servers, request_timeout_ms=TIMEOUT_MS)
    try:
        if one.completes == "topic":
            with Admin(config) as admin:
                return [topic.name for topic in admin.list_topics() if not topic.internal]
        with GroupAdmin(config) as admin:
            return [group.group for group in admin.list_groups()]
    except OdradekError:
        return []


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
        _script_command("fish", "Write it to ~/.config/fish/completions/odradek.fish."),
        Command(
            "words",
            "Print what the last of some words may become; the scripts ask this.",
            words,
            (positional("words", "the words after 'odradek'", metavar="WORD", many=True, required=False),),
        ),
    ),
)
