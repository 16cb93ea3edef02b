package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/cli/mcpserver"
)

type mcpCommand struct {
	service

	Dir      string `help:"Folder with PDFs that the agent may send and verify, and where it may save new files. Without it, the file tools are disabled." type:"existingdir" placeholder:"DIR"`
	ReadOnly bool   `help:"Offer only read-only tools."`
}

// Help returns the additional help text of the command.
func (mcpCommand) Help() string {
	return "Runs a Model Context Protocol server on standard input and output, started by the agent's program. A person confirms sending, reminding and voiding. docs/build/mcp.md lists the tools."
}

// maxMessage is the maximum size of a message from the agent's program, in bytes.
const maxMessage = 1 << 20

// Run serves one agent until it closes standard input.
func (m mcpCommand) Run(ctx context.Context) error {
	c, tenant, err := m.clientNamed("countersign-mcp")
	if err != nil {
		return err
	}
	if tenant == "" {
		return errNoTenant
	}
	cfg := mcpserver.Config{Client: c, Tenant: tenant, ReadOnly: m.ReadOnly, Version: Version, Now: now}
	if m.Dir != "" {
		if cfg.Files, err = os.OpenRoot(m.Dir); err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		defer func() { _ = cfg.Files.Close() }() // the server no longer uses the folder
	}
	s, err := mcpserver.New(cfg)
	if err != nil {
		return err
	}
	err = s.Run(ctx, &mcp.StdioTransport{MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}
