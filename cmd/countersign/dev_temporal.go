package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"countersign/cli/devdir"
	"countersign/config"
	"countersign/internal/bundled"
)

// devTemporal is the Temporal server bundled with dev. The service can run before the server has been compiled.
type devTemporal struct {
	flags     []string
	build     *os.Process     // the process that compiles the server; nil if the server is already compiled
	reserved  []net.Listener  // reserve the server's addresses until it is compiled
	server    *bundled.Server // nil until the server is running, or if the settings specify another one
	address   string          // address of the frontend; empty if the settings specify another server
	ui        string          // address of the Web UI; empty if the settings specify another server
	serverEnd context.CancelCauseFunc
}

// newTemporal starts the bundled Temporal server unless the settings specify another server. If the server is still
// being compiled, newTemporal only reserves the server's addresses, and the server is launched later by start.
func (d devCommand) newTemporal(ctx context.Context, cancel context.CancelCauseFunc, cfg *config.Config, before devdir.Info) (*devTemporal, error) {
	t := &devTemporal{serverEnd: cancel}
	if d.TemporalBuild != 0 {
		t.build, _ = os.FindProcess(d.TemporalBuild) // never fails on Unix
	}
	if _, given := os.LookupEnv(config.Prefix + "TEMPORAL_ADDRESS"); given {
		t.endBuild()
		return t, nil
	}
	t.flags = []string{"--db-filename", filepath.Join(d.DataDir, "temporal.db"), "--namespace", cfg.TemporalNamespace}
	for _, host := range d.Host {
		t.flags = append(t.flags, "--ui-host", host)
	}
	port, uiPort := fmt.Sprint(d.TemporalPort), fmt.Sprint(d.UIPort)
	if t.build != nil {
		if err := t.reserve(ctx, port, uiPort, before); err != nil {
			return nil, err
		}
	} else {
		if port == "0" {
			port = samePort(ctx, before.TemporalAddress)
		}
		if uiPort == "0" {
			uiPort = samePort(ctx, before.TemporalUIURL)
		}
		t.flags = append(t.flags, "--port", port, "--ui-port", uiPort)
		if err := t.start(ctx); err != nil {
			return nil, err
		}
	}
	cfg.TemporalAddress = t.address
	if cfg.TemporalUIURL == "" {
		cfg.TemporalUIURL = t.ui
	}
	return t, nil
}

// reserve holds both ports until start is called. It closes incoming connections immediately, so that no client waits for a response.
func (t *devTemporal) reserve(ctx context.Context, port, uiPort string, before devdir.Info) error {
	for _, address := range []struct{ port, before string }{{port, before.TemporalAddress}, {uiPort, strings.TrimPrefix(before.TemporalUIURL, "http://")}} {
		l, err := listenOnSamePort(ctx, "127.0.0.1:"+address.port, address.before)
		if err != nil {
			return errors.Join(err, t.release())
		}
		t.reserved = append(t.reserved, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // the listener was closed
				}
				_ = c.Close()
			}
		}()
	}
	t.address, t.ui = t.reserved[0].Addr().String(), "http://"+t.reserved[1].Addr().String()
	_, port, _ = net.SplitHostPort(t.address)
	_, uiPort, _ = net.SplitHostPort(t.reserved[1].Addr().String())
	t.flags = append(t.flags, "--port", port, "--ui-port", uiPort)
	return nil
}

// release closes the listeners that reserve the ports.
func (t *devTemporal) release() (err error) {
	for _, l := range t.reserved {
		err = errors.Join(err, l.Close())
	}
	t.reserved = nil
	return err
}

// built waits until the bundled Temporal server is compiled. The build process was started by make, and became a child
// of this process when make's shell replaced itself with this program.
func (t *devTemporal) built(ctx context.Context) error {
	ended := make(chan error, 1)
	go func(build *os.Process) {
		state, err := build.Wait()
		if err == nil && !state.Success() {
			err = errors.New(state.String())
		}
		ended <- err
	}(t.build)
	select {
	case err := <-ended:
		t.build = nil
		if err != nil && !errors.Is(err, syscall.ECHILD) { // the process was already reaped, so its exit code is unknown; an attempt to start the server will reveal whether it was built
			return fmt.Errorf("compiling failed (%w); see bin/temporal.log", err)
		}
		return nil
	case <-ctx.Done():
		t.endBuild()
		return errors.Join(ctx.Err(), <-ended)
	}
}

// endBuild terminates the compilation and all processes started by it.
func (t *devTemporal) endBuild() {
	if t.build != nil {
		_ = syscall.Kill(-t.build.Pid, syscall.SIGTERM) // the process may already have exited
		t.build = nil
	}
}

// start starts the server. If the server ends unexpectedly, the service is stopped.
func (t *devTemporal) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the bundled Temporal server: %w", err)
	}
	if err := t.release(); err != nil {
		return err
	}
	start, done := context.WithTimeout(ctx, startLimit)
	defer done()
	if t.server, err = bundled.Start(start, filepath.Join(filepath.Dir(self), bundled.Binary), t.flags...); err != nil {
		return err
	}
	t.address, t.ui = t.server.Address, t.server.UI
	go func(s *bundled.Server) {
		select {
		case <-s.Ended():
			t.serverEnd(fmt.Errorf("%w: %w", errPartEnded, s.Err()))
		case <-ctx.Done():
		}
	}(t.server)
	return nil
}

func (t *devTemporal) stop() error {
	t.endBuild()
	err := t.release()
	if t.server != nil {
		err = errors.Join(err, t.server.Stop())
	}
	return err
}
