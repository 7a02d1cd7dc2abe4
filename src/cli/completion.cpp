// SPDX-License-Identifier: Apache-2.0
// completion SHELL: a script made of the verbs and options that there are, so that it tells of no
// others. Arguments that are no options are completed as files.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/verb.h"

namespace strandline::cli {
namespace {

/// Verbs that live in Python, with their options.
struct PythonVerb {
  const char* name;
  const char* what;
  const char* options;
};
constexpr PythonVerb kPythonVerbs[]{
    {"run", "run a Python program, record its memory, report what held the peak",
     "--output --json --max-entries --min-size --top --without-adapters --help"},
    {"info", "versions, what is recorded here, and why something is not", "--json --help"},
    {"symbolize", "put names in place of module+offset in a text", "--help"},
};

struct VerbOptions {
  std::string name;
  std::string what;
  std::string options;  ///< with a space between
};

std::vector<VerbOptions> all_verbs(const CLI::App& app) {
  std::vector<VerbOptions> verbs;
  for (const PythonVerb& verb : kPythonVerbs) verbs.push_back({verb.name, verb.what, verb.options});
  for (const CLI::App* const verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    VerbOptions entry{verb->get_name(), verb->get_description(), {}};
    for (const CLI::Option* const option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        entry.options += (entry.options.empty() ? "--" : " --") + name;
      }
    }
    verbs.push_back(std::move(entry));
  }
  return verbs;
}

std::string names_of(const std::vector<VerbOptions>& verbs) {
  std::string names;
  for (const VerbOptions& verb : verbs) names += (names.empty() ? "" : " ") + verb.name;
  return names;
}

std::string bash_script(const std::vector<VerbOptions>& verbs) {
  std::string cases;
  for (const VerbOptions& verb : verbs) {
    cases += fmt::format("    {}) options=\"{}\" ;;\n", verb.name, verb.options);
  }
  return fmt::format(
      R"(# bash completion of strandline: source it, or put it into bash-completion's folder
_strandline() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" options=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  case $verb in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _strandline strandline
)",
      names_of(verbs), cases);
}

/// Quoted for a single-quoted word of zsh and fish.
std::string in_quotes(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

std::string zsh_script(const std::vector<VerbOptions>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbOptions& verb : verbs) {
    names += fmt::format("    {}\n", in_quotes(verb.name + ":" + verb.what));
    cases += fmt::format("    {}) options=({}) ;;\n", verb.name, verb.options);
  }
  return fmt::format(R"(#compdef strandline
# zsh completion of strandline: put it as _strandline into a folder of $fpath, or source it
_strandline() {{
  local -a verbs options
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    return
  fi
  case $words[2] in
{}  esac
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- $options
  else
    _files
  fi
}}
if (( $+functions[compdef] )); then compdef _strandline strandline; fi
)",
                     names, cases);
}

std::string fish_script(const std::vector<VerbOptions>& verbs) {
  std::string text =
      "# fish completion of strandline: put it into ~/.config/fish/completions/strandline.fish\n";
  for (const VerbOptions& verb : verbs) {
    text += fmt::format("complete -c strandline -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                        in_quotes(verb.what));
    std::size_t at = 0;
    while (at < verb.options.size()) {
      const std::size_t end = std::min(verb.options.find(' ', at), verb.options.size());
      text += fmt::format("complete -c strandline -n '__fish_seen_subcommand_from {}' -l {}\n",
                          verb.name, verb.options.substr(at + 2, end - at - 2));
      at = end + 1;
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("completion");
  const auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(
      "Example: strandline completion bash > "
      "~/.local/share/bash-completion/completions/strandline");
  verb->callback([shell, &app, &answer] {
    const std::vector<VerbOptions> verbs = all_verbs(app);
    answer.text = *shell == "bash"  ? bash_script(verbs)
                  : *shell == "zsh" ? zsh_script(verbs)
                                    : fish_script(verbs);
  });
}

}  // namespace strandline::cli
