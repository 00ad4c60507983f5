/**
 * Each script calls `__complete` with the words up to the cursor. It prints candidates, each with a tab and a
 * description, and at last `:0` if files fit, or `:4` if they do not. kubectl reads the same format from plugins
 * (kubernetes, kubectl/pkg/cmd/plugin/plugin_completion.go).
 */
export const COMPLETION_SCRIPTS = {
  bash: String.raw`# Completion for bash 3.2 or newer.
_machineconfig_guard() {
  local line=${'$'}{COMP_LINE:0:COMP_POINT} words candidate directive
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == :[0-9] ]]; then directive=$candidate; else COMPREPLY+=("$candidate"); fi
  done < <("$1" __complete "${'$'}{words[@]:1}" 2>/dev/null)
  [[ $directive == :0 ]] || compopt +o default 2>/dev/null
}
complete -o default -F _machineconfig_guard machineconfig-guard kubectl-mcguard
`,
  fish: String.raw`# Completion for fish.
function __machineconfig_guard_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    if test (count $lines) -gt 1
        printf '%s\n' $lines[1..-2]
    else if test "$lines" = ':0'
        __fish_complete_path "$word"
    end
end
for program in machineconfig-guard kubectl-mcguard
    complete -c $program -f -a '(__machineconfig_guard_complete)'
end
`,
  zsh: String.raw`#compdef machineconfig-guard kubectl-mcguard
_machineconfig_guard() {
  local -a lines candidates
  local line name
  lines=("${'$'}{(@f)$(${'$'}{~words[1]} __complete "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${'$'}{(@)lines[1,-2]}"; do
    name=${'$'}{line%%$'\t'*}
    # A colon separates a candidate from its description.
    candidates+=("${'$'}{name//:/\\:}${'$'}{${'$'}{line#$name}/$'\t'/:}")
  done
  if (( $#candidates )); then
    _describe -t values value candidates
  elif [[ $lines[-1] == :0 ]]; then
    compset -P '*='
    _files
  fi
}
# The file can be loaded with source, or be a function in the fpath.
if [[ $funcstack[1] == _machineconfig-guard ]]; then
  _machineconfig_guard
else
  compdef _machineconfig_guard machineconfig-guard kubectl-mcguard
fi
`,
} as const;
