// Package cli is the command line client of a service: it signs in, sends, follows and downloads envelopes, and offers
// a service to agents. It uses only the API.
package cli

// Version is the program's version, which it states to services.
var Version = "dev"

// Commands are the commands that call a service, for kong.
type Commands struct {
	Login      loginCommand      `cmd:"" group:"Use a service" help:"Keep the address and credential of a service."`
	Send       sendCommand       `cmd:"" group:"Use a service" help:"Send PDFs to be signed."`
	Status     statusCommand     `cmd:"" group:"Use a service" help:"Show an envelope, its signers and what happened."`
	List       listCommand       `cmd:"" group:"Use a service" help:"List envelopes."`
	Remind     remindCommand     `cmd:"" group:"Use a service" help:"Email a reminder, with the same link, to everyone whose turn it is."`
	Void       voidCommand       `cmd:"" group:"Use a service" help:"End an envelope."`
	Extend     extendCommand     `cmd:"" group:"Use a service" help:"Move the deadline of an envelope."`
	Replace    replaceCommand    `cmd:"" group:"Use a service" help:"Put another person in the place of a signer."`
	Download   downloadCommand   `cmd:"" group:"Use a service" help:"Download a sealed or original PDF."`
	Template   templateCommand   `cmd:"" group:"Use a service" help:"Keep templates as files."`
	Bulk       bulkCommand       `cmd:"" group:"Use a service" help:"Send many envelopes at once."`
	Import     importCommand     `cmd:"" group:"Use a service" help:"Take over what another service has."`
	Listen     listenCommand     `cmd:"" group:"Use a service" help:"Receive events, and post them to a local address."`
	Replay     replayCommand     `cmd:"" group:"Use a service" help:"Post the events of the last time again."`
	Trigger    triggerCommand    `cmd:"" group:"Use a service" help:"Post a made-up event to a local address."`
	MCP        mcpCommand        `cmd:"" name:"mcp" group:"Use a service" help:"Offer a service to an agent, as tools of the Model Context Protocol."`
	Completion completionCommand `cmd:"" group:"Use a service" help:"Print a script that completes commands and flags in a shell."`
}
