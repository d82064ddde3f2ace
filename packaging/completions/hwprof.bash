# shellcheck shell=bash
# Completion of hwprof in bash. It asks hwprof itself (`hwprof --complete`), which knows its commands,
# their options and values, and the events of this machine: nothing here is to be kept in step.

_hwprof() {
  # bash breaks words at "=" and ":" (COMP_WORDBREAKS); hwprof takes them whole.
  local -a words=() starts=()
  local i word glue=false
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]} > 0)) && [[ $word =~ ^[=:]+$ ]]; then
      words[-1]+=$word
      glue=true
    elif $glue; then
      words[-1]+=$word
      glue=false
    else
      words+=("$word")
      starts+=("$i")
    fi
  done
  local typed=${words[-1]-} line text
  local behind=${typed##*[=:]}  # what bash replaces of it
  local before=${typed%"$behind"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file)
        compopt -o filenames 2>/dev/null
        while IFS= read -r text; do COMPREPLY+=("$text"); done < <(compgen -f -- "$behind")
        ;;
      :nospace) compopt -o nospace 2>/dev/null ;;
      :command\ *)
        i=${starts[${line#:command }]-$COMP_CWORD}
        if declare -F _command_offset >/dev/null; then
          _command_offset "$i"
        elif ((i == COMP_CWORD)); then
          while IFS= read -r text; do COMPREPLY+=("$text"); done < <(compgen -c -- "$behind")
        else
          compopt -o filenames 2>/dev/null
          while IFS= read -r text; do COMPREPLY+=("$text"); done < <(compgen -f -- "$behind")
        fi
        ;;
      *)
        text=${line%%$'\t'*}
        COMPREPLY+=("${text#"$before"}")
        ;;
    esac
  done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}

complete -F _hwprof hwprof
