"""bash and zsh on a terminal of their own: what is on the line after Tab. fish tells it by itself.

Standard library only.
"""

import os
import pathlib
import pty
import select
import subprocess
import time

COMPLETIONS = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "completions"
# Ctrl-X Ctrl-P tells what is on the line.
TELL = "\x18\x10"
BASH = """
PS1='ready> '
bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'
bind 'set completion-query-items 0'
source {completions}/hwprof.bash
tell() {{ printf %s "$READLINE_LINE" >{told}.part; mv {told}.part {told}; }}
bind -x '"\\C-x\\C-p": tell'
"""
ZSH = """
PS1='ready> '; unsetopt PROMPT_SP; LISTMAX=1000
fpath=({completions} $fpath); autoload -U compinit; compinit -u -d {told}.dump
tell() {{ print -rn -- "$BUFFER" >{told}.part; mv {told}.part {told} }}
zle -N tell; bindkey '^X^P' tell; bindkey '^I' complete-word
"""
START = {"bash": (["bash", "--norc", "--noprofile", "-i"], BASH), "zsh": (["zsh", "-f", "-i"], ZSH)}


class Terminal:
    """An interactive shell with hwprof's completion, in `folder`."""

    def __init__(self, shell, folder, environment):
        command, script = START[shell]
        self.told = os.path.join(folder, ".told")
        setup = os.path.join(folder, ".setup")
        with open(setup, "w", encoding="utf-8") as file:
            file.write(script.format(completions=COMPLETIONS, told=self.told) + "echo set-up\n")
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
            env=dict(environment, TERM="dumb", HISTFILE="", ZDOTDIR=folder))
        os.close(slave)
        self.type(" source %s\r" % setup)
        self.wait_for(b"set-up\r\n")

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, text, seconds=60):
        seen, end = b"", time.monotonic() + seconds
        while text not in seen:
            if time.monotonic() > end:
                raise AssertionError("no %r from the shell in %r" % (text, seen))
            if select.select([self.master], [], [], 0.1)[0]:
                seen += os.read(self.master, 65536)

    def after_tab(self, line):
        """What `line` has become."""
        self.type(line + "\t" + TELL)
        end = time.monotonic() + 60
        while not os.path.exists(self.told):
            if time.monotonic() > end:
                raise AssertionError("the shell does not tell its line after %r" % line)
            if select.select([self.master], [], [], 0.05)[0]:
                os.read(self.master, 65536)
        with open(self.told, encoding="utf-8") as file:
            found = file.read()
        os.unlink(self.told)
        self.type("\x15")  # Ctrl-U
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def of_fish(line, folder, environment):
    """What fish offers for the end of `line`: {text: description}."""
    script = "source %s/hwprof.fish; complete -C %s" % (COMPLETIONS, "'%s'" % line)
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=120, check=True)
    return dict((text + "\t").split("\t")[:2] for text in done.stdout.splitlines())


def of_bash(words, folder, environment):
    """COMPREPLY for `words`, broken as bash has them."""
    script = ('source "%s/hwprof.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hwprof; '
              'printf "%%s\\n" "${COMPREPLY[@]}"' % COMPLETIONS)
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.split()
