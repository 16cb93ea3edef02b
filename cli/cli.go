// Package cli is the command line client for a service. It signs in to a service. It sends, tracks and downloads
// envelopes, and makes a service available to agents. It uses only the API.
package cli

// Version is the version of the program. The User-Agent header of every request contains it.
var Version = "dev"

// Commands contains the commands that call a service, for use with kong.
type Commands struct {
	Login      loginCommand      `cmd:"" group:"Use a service" help:"Sign in to a service and store its address and credential."`
	Send       sendCommand       `cmd:"" group:"Use a service" help:"Send PDFs for signature."`
	Status     statusCommand     `cmd:"" group:"Use a service" help:"Show an envelope, its signers and its events."`
	List       listCommand       `cmd:"" group:"Use a service" help:"List envelopes."`
	Remind     remindCommand     `cmd:"" group:"Use a service" help:"Email a reminder, with the same link, to every signer who can sign now."`
	Void       voidCommand       `cmd:"" group:"Use a service" help:"Void an envelope."`
	Extend     extendCommand     `cmd:"" group:"Use a service" help:"Change the deadline of an envelope."`
	Replace    replaceCommand    `cmd:"" group:"Use a service" help:"Replace a signer."`
	Download   downloadCommand   `cmd:"" group:"Use a service" help:"Download a sealed or original PDF."`
	Template   templateCommand   `cmd:"" group:"Use a service" help:"Manage templates as files."`
	Bulk       bulkCommand       `cmd:"" group:"Use a service" help:"Send many envelopes from a table."`
	Import     importCommand     `cmd:"" group:"Use a service" help:"Import from another service."`
	Listen     listenCommand     `cmd:"" group:"Use a service" help:"Receive events and forward them to a local address."`
	Replay     replayCommand     `cmd:"" group:"Use a service" help:"Forward recent events again."`
	Trigger    triggerCommand    `cmd:"" group:"Use a service" help:"Post a sample event to a local address."`
	MCP        mcpCommand        `cmd:"" name:"mcp" group:"Use a service" help:"Run a Model Context Protocol server for agents."`
	Completion completionCommand `cmd:"" group:"Use a service" help:"Print a shell completion script."`
}
