package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
)

// Limits for command-line values.
const (
	maxNamespaces = 256
	maxPort       = 65535
)

type options struct {
	ip         netip.Addr // address of the frontend and the UI
	port       int        // frontend port; 0 selects a free one
	uiPort     int        // Web UI port; 0 selects a free one
	uiHosts    []string   // names under which browsers can access the Web UI
	headless   bool       // whether to run without the Web UI
	dbFilename string     // SQLite file; empty to keep all data in memory
	postgres   string     // URL of a PostgreSQL database to use instead

	namespaces       []string
	searchAttributes searchAttributes
	dynamicConfig    map[string]any
	pragmas          map[string]string

	logLevel      string
	logFormat     string
	codecEndpoint string // payload codec called by the pages of the Web UI
	watchStdin    bool
}

// searchAttributes maps the names of search attributes to their types.
type searchAttributes = map[string]enums.IndexedValueType

// countersignAttributes returns the typed search attributes of Countersign's workflows. Every namespace of this server
// has these attributes.
func countersignAttributes() searchAttributes {
	return searchAttributes{
		"AppId":          enums.INDEXED_VALUE_TYPE_KEYWORD,
		"TenantId":       enums.INDEXED_VALUE_TYPE_KEYWORD,
		"EnvelopeId":     enums.INDEXED_VALUE_TYPE_KEYWORD,
		"EnvelopeStatus": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"Stuck":          enums.INDEXED_VALUE_TYPE_KEYWORD,
	}
}

// flagSet binds the flags of "server start-dev" to opts.
func flagSet(opts *options, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("countersign-temporal server start-dev", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.TextVar(&opts.ip, "ip", netip.AddrFrom4([4]byte{127, 0, 0, 1}), "`address` to listen on")
	fs.IntVar(&opts.port, "port", 7233, "`port` of the Temporal frontend (gRPC); 0 chooses a free one")
	fs.IntVar(&opts.uiPort, "ui-port", -1, "`port` of the Web UI; 0 chooses a free one (default: frontend port + 1000)")
	fs.Func("ui-host", "host `name` under which browsers may access the Web UI, in addition to localhost and IP addresses; may be repeated", func(s string) error {
		opts.uiHosts = append(opts.uiHosts, s)
		return nil
	})
	fs.BoolVar(&opts.headless, "headless", false, "run without the Web UI")
	fs.StringVar(&opts.dbFilename, "db-filename", "", "SQLite `file` in which to store the state (default: in memory only)")
	fs.StringVar(&opts.postgres, "postgres", "", "`URL` of a PostgreSQL database in which to store the state; a second database with the same name and the suffix _visibility must exist")
	fs.StringVar(&opts.logLevel, "log-level", "error", "debug, info, warn, error or never")
	fs.StringVar(&opts.logFormat, "log-format", "text", "text, pretty or json")
	fs.StringVar(&opts.codecEndpoint, "ui-codec-endpoint", "", "payload codec `URL` for the Web UI")
	fs.BoolVar(&opts.watchStdin, "watch-stdin", false, "stop when standard input is closed, which happens when the parent process exits")
	fs.Func("namespace", "`name` of a namespace to create if missing; may be repeated (default \"default\")", opts.addNamespace)
	fs.Func("search-attribute", "`Name=Type` to register in addition to Countersign's own; may be repeated", opts.addSearchAttribute)
	fs.Func("dynamic-config-value", "`key=JSON` of the server's dynamic configuration; may be repeated", opts.addDynamicConfig)
	fs.Func("sqlite-pragma", "`name=value`, where name is journal_mode or synchronous; may be repeated", opts.addPragma)
	return fs
}

// parseOptions parses the flags of "server start-dev". It prints help to stderr. The returned error is flag.ErrHelp, or
// describes the problem in one line.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	opts := options{searchAttributes: countersignAttributes(), dynamicConfig: map[string]any{}, pragmas: map[string]string{}}
	fs := flagSet(&opts, io.Discard)
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(stderr)
		_, _ = fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
		return options{}, err
	} else if err != nil {
		return options{}, err
	}
	if fs.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if len(opts.namespaces) == 0 {
		opts.namespaces = []string{"default"}
	}
	if opts.uiPort == -1 && opts.port == 0 {
		opts.uiPort = 0
	} else if opts.uiPort == -1 {
		opts.uiPort = opts.port + 1000
	}
	return opts, opts.validate()
}

func (o *options) validate() error {
	switch {
	case o.port < 0 || o.port > maxPort:
		return fmt.Errorf("--port %d is not a port", o.port)
	case !o.headless && (o.uiPort < 0 || o.uiPort > maxPort):
		return fmt.Errorf("--ui-port %d is not a port", o.uiPort)
	case !o.headless && o.port != 0 && o.port == o.uiPort:
		return fmt.Errorf("--port and --ui-port are both %d", o.port)
	case len(o.namespaces) > maxNamespaces:
		return fmt.Errorf("more than %d namespaces", maxNamespaces)
	case o.postgres != "" && o.dbFilename != "":
		return errors.New("--postgres and --db-filename cannot be combined")
	case !slices.Contains([]string{"debug", "info", "warn", "error", "never"}, o.logLevel):
		return fmt.Errorf("--log-level %q is not debug, info, warn, error or never", o.logLevel)
	case !slices.Contains([]string{"text", "pretty", "json"}, o.logFormat):
		return fmt.Errorf("--log-format %q is not text, pretty or json", o.logFormat)
	}
	return nil
}

func (o *options) addNamespace(name string) error {
	if name == "" {
		return errors.New("empty name")
	}
	if !slices.Contains(o.namespaces, name) {
		o.namespaces = append(o.namespaces, name)
	}
	return nil
}

func (o *options) addSearchAttribute(s string) error {
	name, kind, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("expected Name=Type")
	}
	t, err := enums.IndexedValueTypeFromString(kind)
	if err != nil || t == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return fmt.Errorf("unknown type %q, expected Text, Keyword, Int, Double, Bool, Datetime or KeywordList", kind)
	}
	if known, ok := o.searchAttributes[name]; ok && known != t {
		return fmt.Errorf("%s is already of type %s", name, known)
	}
	o.searchAttributes[name] = t
	return nil
}

func (o *options) addDynamicConfig(s string) error {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("expected key=JSON")
	}
	dec := json.NewDecoder(bytes.NewBufferString(text))
	dec.UseNumber() // the server distinguishes integers from floating-point numbers
	var value any
	if err := dec.Decode(&value); err != nil || dec.More() {
		return fmt.Errorf("the value of %s is not JSON", key)
	}
	o.dynamicConfig[key] = plainNumbers(value)
	return nil
}

// plainNumbers replaces every json.Number in a decoded value with an int or a float64.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return int(i)
		}
		f, _ := v.Float64() // out of range yields ±Inf, which the server rejects
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return value
}

func (o *options) addPragma(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || (name != "journal_mode" && name != "synchronous") {
		return errors.New("expected journal_mode=… or synchronous=…")
	}
	o.pragmas[name] = value
	return nil
}
