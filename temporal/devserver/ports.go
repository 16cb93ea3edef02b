package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// ports contains the TCP ports of one server. They stay open until release is called. All of them are therefore
// distinct, and a port in use is detected before the start.
type ports struct {
	frontend      int
	ui            int            // 0 if headless
	uiBackendIP   netip.Addr     // address of the Web UI server itself
	uiBackendPort int            // port of the Web UI server itself
	internal      map[string]int // loopback ports by service
	held          []net.Listener
}

// reservePorts opens the requested ports and chooses the remaining ones.
func reservePorts(ctx context.Context, opts options) (_ *ports, err error) {
	p := &ports{internal: map[string]int{}}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if p.frontend, err = p.reserve(ctx, opts.ip, opts.port); err != nil {
		return nil, fmt.Errorf("the frontend: %w", err)
	}
	if !opts.headless {
		if p.ui, err = p.reserve(ctx, opts.ip, opts.uiPort); err != nil {
			return nil, fmt.Errorf("the Web UI: %w", err)
		}
		p.uiBackendIP = randomLoopbackIP()
		if p.uiBackendPort, err = p.reserve(ctx, p.uiBackendIP, 0); err != nil {
			return nil, fmt.Errorf("the Web UI: %w", err)
		}
	}
	for _, name := range temporal.DefaultServices {
		if name == string(primitives.FrontendService) {
			continue
		}
		if p.internal[name], err = p.reserve(ctx, netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0); err != nil {
			return nil, fmt.Errorf("the %s service: %w", name, err)
		}
	}
	return p, nil
}

func (p *ports) reserve(ctx context.Context, ip netip.Addr, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", hostPort(ip, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0, fmt.Errorf("port %d on %s is already in use", port, ip)
	}
	if err != nil {
		return 0, fmt.Errorf("port %d on %s cannot be used: %w", port, ip, err)
	}
	p.held = append(p.held, l)
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (p *ports) release() {
	for _, l := range p.held {
		_ = l.Close()
	}
	p.held = nil
}
