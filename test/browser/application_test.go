package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// application is a program that uses the TypeScript client (client.mjs). It sends all requests that the tests make as
// an application.
type application struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	ended   error // reason why no more results will arrive
}

type reply struct {
	ID     int
	Result json.RawMessage
	Error  *callError
}

// callError is an error that the client reports. Status is 0 if there was no response.
type callError struct {
	Status  int
	Message string
}

func (e *callError) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// pdfFile is a document in the arguments or the result of a call.
type pdfFile struct {
	Base64 []byte `json:"base64"`
}

func startApplication(s *service) (*application, error) {
	if _, err := os.Stat(filepath.Join(s.root, "clients/typescript/dist/index.js")); err != nil {
		return nil, fmt.Errorf("the TypeScript client is not built (make clients first): %w", err)
	}
	a := &application{cmd: exec.CommandContext(context.Background(), "node", filepath.Join(s.root, "test/browser/client.mjs")), waiting: map[int]chan reply{}}
	a.cmd.Env = append(os.Environ(), "COUNTERSIGN_URL="+s.base, "COUNTERSIGN_CLIENT_ID="+s.client, "COUNTERSIGN_CLIENT_SECRET="+s.secret)
	a.cmd.Stderr = os.Stderr
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	go a.read(out)
	return a, nil
}

// read passes each result to the call that is waiting for it.
func (a *application) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var r reply
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		a.mu.Lock()
		if err != nil {
			a.ended = fmt.Errorf("the program with the TypeScript client does not respond: %w", err)
			for _, c := range a.waiting {
				close(c)
			}
			a.mu.Unlock()
			return
		}
		a.waiting[r.ID] <- r
		delete(a.waiting, r.ID)
		a.mu.Unlock()
	}
}

// call calls a function of client.mjs, and decodes the result into out, which may be nil.
func (a *application) call(out any, name string, args ...any) error {
	answer := make(chan reply, 1)
	a.mu.Lock()
	err := a.ended
	if err == nil {
		a.last++
		a.waiting[a.last] = answer
		var line []byte
		if line, err = json.Marshal(map[string]any{"id": a.last, "call": name, "args": args}); err == nil {
			_, err = a.in.Write(append(line, '\n'))
		}
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return a.ended
		case r.Error != nil:
			return fmt.Errorf("%s %s: %w", name, about(args), r.Error)
		case out == nil:
			return nil
		}
		return json.Unmarshal(r.Result, out)
	case <-time.After(waitTimeout):
		return fmt.Errorf("%s %s: no response", name, about(args))
	}
}

// about returns the short string arguments of a call, to describe the call in errors.
func about(args []any) string {
	var short []string
	for _, v := range args {
		if s, ok := v.(string); ok && len(s) < 100 {
			short = append(short, s)
		}
	}
	return strings.Join(short, " ")
}

func (a *application) stop() error {
	return errors.Join(a.in.Close(), a.cmd.Wait()) // the program exits when its input is closed
}

// api calls the API as an application.
func (s *service) api(method, path string, body, out any) error {
	return s.app.call(out, "call", strings.ToLower(method), path, body)
}
