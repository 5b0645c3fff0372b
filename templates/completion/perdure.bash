# bash completion for perdure; needs nothing but bash, 3.2 or later

_perdure() {
    local rest=${COMP_LINE:0:COMP_POINT} space token i
    local -a words=()
    # Bash splits words at characters such as ":" and "=" too; what no space parts belongs together.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        space=${rest%%[![:space:]]*}
        rest=${rest#"$space"}
        token=${COMP_WORDS[i]}
        # The word may go on behind the cursor.
        ((i == COMP_CWORD)) && token=$rest
        rest=${rest#"$token"}
        if [[ -n $space || ${#words[@]} -eq 0 ]]; then
            words+=("$token")
        else
            words[${#words[@]} - 1]+=$token
        fi
    done
    local word=${words[${#words[@]} - 1]} line value
    # Bash replaces what stands behind the last such character only.
    local kept=${word%"${token##*[=:@]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        [[ $line == :* ]] && continue
        value=${line%%$'\t'*}
        COMPREPLY+=("${value#"$kept"}")
    done < <(perdure complete -- "${words[@]:1}" 2>/dev/null)
}

complete -F _perdure perdure
