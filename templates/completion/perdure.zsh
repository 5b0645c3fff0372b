#compdef perdure
# zsh completion for perdure

_perdure() {
    local line value about
    local -a described
    while IFS= read -r line; do
        [[ $line == :* ]] && continue
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        # A run's id may hold a colon, which parts a value from its description.
        described+=("${value//:/\\:}${about:+:$about}")
    done < <(perdure complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    # Of --status=ca, what follows the sign is completed.
    [[ ${words[CURRENT]} == --*=* ]] && compset -P '*='
    _describe perdure described
}

if (( ! ${+functions[compdef]} )); then
    autoload -Uz compinit
    compinit
fi
compdef _perdure perdure
