package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Help returns the additional help text of the command.
func (completionCommand) Help() string {
	return "bash and zsh: source <(countersign completion bash). fish: countersign completion fish | source."
}

// Run prints a shell script that completes commands and flags.
func (c completionCommand) Run(k *kong.Context) error {
	var b strings.Builder
	if c.Shell == "fish" {
		b.WriteString("complete -c countersign -f\n")
	} else {
		if c.Shell == "zsh" {
			b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
		}
		b.WriteString("_countersign() {\n  local path=\"\" word words i\n  for ((i = 1; i < COMP_CWORD; i++)); do word=${COMP_WORDS[i]}; [[ $word == -* ]] || path=\"$path $word\"; done\n  case \"$path\" in\n")
	}
	var walk func(path string, n *kong.Node)
	walk = func(path string, n *kong.Node) {
		var words []string
		for _, child := range n.Children {
			if child.Hidden {
				continue
			}
			words = append(words, child.Name)
			if c.Shell == "fish" {
				seen := "__fish_use_subcommand"
				if path != "" {
					seen = "__fish_seen_subcommand_from" + path
				}
				fmt.Fprintf(&b, "complete -c countersign -n '%s' -a %s -d %q\n", seen, child.Name, child.Help)
			}
			walk(path+" "+child.Name, child)
		}
		for _, f := range n.Flags {
			words = append(words, "--"+f.Name)
			if c.Shell == "fish" && path != "" {
				fmt.Fprintf(&b, "complete -c countersign -n '__fish_seen_subcommand_from%s' -l %s\n", path, f.Name)
			}
		}
		if c.Shell != "fish" && path != "" {
			fmt.Fprintf(&b, "    %q | %q*) words=%q ;;\n", path, path+" ", strings.Join(words, " "))
		}
		if c.Shell != "fish" && path == "" {
			fmt.Fprintf(&b, "    *) words=%q ;;\n", strings.Join(words, " "))
		}
	}
	walk("", k.Model.Node)
	if c.Shell != "fish" {
		b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\") $(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o filenames -F _countersign countersign\n")
	}
	_, err := fmt.Fprint(os.Stdout, b.String())
	return err
}
