package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	clusterName  = "active"
	storeName    = "store"
	visibility   = "visibility"
	readyTimeout = 30 * time.Second
	readyPoll    = 25 * time.Millisecond
	stopTimeout  = 15 * time.Second // Temporal stops in about 2.5 s
)

type server struct {
	opts     options
	address  string // host:port of the frontend for clients on this machine
	uiURL    string // empty if headless
	db       *database
	logger   log.Logger
	silence  func() // stops logging, because a stopping server logs errors about its own closed connections
	temporal temporal.Server
	ui       *uiserver.Server
	guard    *http.Server // in front of the Web UI
}

// startServer starts Temporal and its Web UI, and returns when both respond. If an error occurs, or if ctx ends first
// (context.Canceled), it stops everything that it has started.
func startServer(ctx context.Context, opts options) (_ *server, err error) {
	db, err := opts.database(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{opts: opts, db: db}
	s.logger, s.silence = newLogger(opts.logLevel, opts.logFormat)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()

	if err := ensureNamespaces(ctx, db.config, opts.namespaces, opts.searchAttributes); err != nil {
		return nil, err
	}
	ports, err := reservePorts(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.address = hostPort(dialIP(opts.ip), ports.frontend)
	ports.release() // as late as possible, because Temporal binds the ports itself
	srv, err := temporal.NewServer(s.serverOptions(ports)...)
	if err != nil {
		return nil, fmt.Errorf("configure Temporal: %w", err)
	}
	if err := srv.Start(); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s.temporal = srv
	if !opts.headless {
		if err := s.startUI(ctx, ports); err != nil {
			return nil, err
		}
	}
	return s, s.waitReady(ctx)
}

func (o *options) database(ctx context.Context) (*database, error) {
	if o.postgres != "" {
		return openPostgres(ctx, o.postgres)
	}
	return openDatabase(ctx, o.dbFilename, o.pragmas)
}

// stop stops the Web UI and Temporal, and then releases the database file. It waits no longer than stopTimeout, because
// the state is always safe in SQLite's write-ahead log.
func (s *server) stop() error {
	s.silence()
	if s.guard != nil {
		_ = s.guard.Close() // running requests end when the UI stops
	}
	if s.ui != nil {
		s.ui.Stop()
	}
	var err error
	if s.temporal != nil {
		done := make(chan error, 1)
		go func() { done <- s.temporal.Stop() }()
		select {
		case err = <-done:
		case <-time.After(stopTimeout):
			err = fmt.Errorf("did not stop within %s", stopTimeout)
		}
	}
	return errors.Join(err, s.db.close())
}

// readyLine returns the line that reports all addresses to the parent process.
func (s *server) readyLine() string {
	line := "ready address=" + s.address
	if s.uiURL != "" {
		line += " ui=" + s.uiURL
	}
	return line + " namespaces=" + strings.Join(s.opts.namespaces, ",")
}

// startUI starts the Web UI on a private port, and the guard in front of it.
func (s *server) startUI(ctx context.Context, p *ports) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", hostPort(s.opts.ip, p.ui))
	if err != nil {
		return fmt.Errorf("the Web UI: %w", err)
	}
	s.uiURL = "http://" + hostPort(dialIP(s.opts.ip), p.ui)
	s.guard = serveUI(l, &url.URL{Scheme: "http", Host: hostPort(p.uiBackendIP, p.uiBackendPort)}, s.opts.uiHosts)
	s.ui = uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host: hostForURL(p.uiBackendIP), Port: p.uiBackendPort, TemporalGRPCAddress: s.address,
		DefaultNamespace: s.opts.namespaces[0], EnableUI: true, HideLogs: true, DisableNewsFetch: true,
		CORS:  uiconfig.CORS{CookieInsecure: true}, // plain HTTP on loopback
		Codec: uiconfig.Codec{Endpoint: s.opts.codecEndpoint},
	}))
	go func() { _ = s.ui.Start() }() // blocks; exits the process if it cannot listen
	return nil
}

// waitReady polls until every namespace and the Web UI respond.
func (s *server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial %s: %w", s.address, err)
	}
	defer func() { _ = conn.Close() }()

	frontend := workflowservice.NewWorkflowServiceClient(conn)
	for _, name := range s.opts.namespaces {
		err := poll(ctx, func() error {
			_, err := frontend.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
			return err
		})
		if err != nil {
			return fmt.Errorf("namespace %q did not become available: %w", name, err)
		}
	}
	if s.ui == nil {
		return nil
	}
	if err := poll(ctx, func() error { return getOK(ctx, s.uiURL+"/healthz") }); err != nil {
		return fmt.Errorf("the Web UI did not become available: %w", err)
	}
	return nil
}

// serverOptions returns the complete configuration of Temporal: one cluster, with all four services in this process and
// without archival.
func (s *server) serverOptions(ports *ports) []temporal.ServerOption {
	c := &config.Config{}
	c.Global.Membership = config.Membership{MaxJoinDuration: readyTimeout, BroadcastAddress: "127.0.0.1"}
	c.Persistence = config.Persistence{
		NumHistoryShards: s.db.shards, DefaultStore: storeName, VisibilityStore: storeName,
		DataStores: map[string]config.DataStore{storeName: {SQL: s.db.config}},
	}
	if s.db.visibility != nil {
		c.Persistence.VisibilityStore = visibility
		c.Persistence.DataStores[visibility] = config.DataStore{SQL: s.db.visibility}
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: s.address},
		},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State = "disabled"
	c.NamespaceDefaults.Archival.Visibility.State = "disabled"
	c.PublicClient.HostPort = s.address

	c.Services = map[string]config.Service{}
	hosts := make(map[primitives.ServiceName]static.Hosts, len(temporal.DefaultServices))
	for _, name := range temporal.DefaultServices {
		rpc := config.RPC{GRPCPort: ports.internal[name], BindOnIP: "127.0.0.1"}
		address := hostPort(netip.AddrFrom4([4]byte{127, 0, 0, 1}), rpc.GRPCPort)
		if name == string(primitives.FrontendService) {
			rpc = config.RPC{GRPCPort: ports.frontend, BindOnIP: s.opts.ip.String()}
			address = s.address
		}
		c.Services[name] = config.Service{RPC: rpc}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(address)
	}
	return []temporal.ServerOption{
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(s.logger),
		temporal.WithDynamicConfigClient(dynamicConfig(s.opts.dynamicConfig)),
	}
}

func dynamicConfig(overrides map[string]any) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		// The default is 20 per shard. With a single shard, it would delay every step of a workflow by up to 50 ms.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 1000,
		dynamicconfig.MatchingEnableFairness.Key():      true,
		// Allow clients to use new attributes immediately.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		// A development server makes no outgoing calls.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
	for key, value := range overrides {
		values[dynamicconfig.MakeKey(key)] = value
	}
	return values
}

// poll calls ready until a call succeeds or ctx ends. If ctx ends, poll returns the last error of ready, joined with
// the error of ctx.
func poll(ctx context.Context, ready func() error) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func getOK(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// dialIP returns the address that this machine uses to connect to a listener on ip.
func dialIP(ip netip.Addr) netip.Addr {
	switch {
	case !ip.IsUnspecified():
		return ip
	case ip.Is4():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		return netip.IPv6Loopback()
	}
}

func hostPort(ip netip.Addr, port int) string {
	return net.JoinHostPort(ip.String(), strconv.Itoa(port))
}

// hostForURL encloses an IPv6 address in brackets, because the Web UI joins the host and the port with a colon.
func hostForURL(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

// newLogger returns a logger that writes to standard error, with stack traces only at level debug. After silence is
// called, it writes only fatal messages.
func newLogger(level, format string) (logger log.Logger, silence func()) {
	if level == "never" {
		return log.NewNoopLogger(), func() {}
	}
	if format != "json" {
		format = "console"
	}
	base := log.BuildZapLogger(log.Config{Level: level, Format: format})
	current := zap.NewAtomicLevelAt(log.ParseZapLevel(level))
	zl := base.WithOptions(zap.IncreaseLevel(current))
	if level != "debug" {
		zl = zl.WithOptions(zap.AddStacktrace(zap.LevelEnablerFunc(func(zapcore.Level) bool { return false })))
	}
	return log.NewZapLogger(zl), func() { current.SetLevel(zap.FatalLevel) }
}
