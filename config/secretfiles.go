package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
)

// fileSuffix is the suffix of variables that contain the path of a file with a secret.
const fileSuffix = "_FILE"

// maxSecretFile is the maximum size of a file with a secret, in bytes.
const maxSecretFile = 64 << 10

// secretNames returns the names, without the prefix, of the settings that can be read from a file.
func secretNames() []string {
	var names []string
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Type == reflect.TypeFor[Secret]() {
			names = append(names, f.Tag.Get("env"))
		}
	}
	slices.Sort(names)
	return names
}

// readSecretFiles reads each secret for which the variable with the suffix _FILE is set. It returns the problems found.
func readSecretFiles(vars map[string]string) []error {
	var problems []error
	for _, name := range secretNames() {
		variable := Prefix + name + fileSuffix
		file := vars[variable]
		if file == "" {
			continue
		}
		if vars[Prefix+name] != "" {
			problems = append(problems, fmt.Errorf("  %s: %s is also set; set only one of them", variable, Prefix+name))
			continue
		}
		secret, err := readSecretFile(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("  %s: the file %s %w", variable, file, err))
			continue
		}
		vars[Prefix+name] = secret
	}
	return problems
}

// readSecretFile returns the content of a file without a trailing newline. Its errors begin with a verb, because the
// caller prepends the name of the file.
func readSecretFile(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // specified by the operator
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("does not exist")
	case errors.Is(err, fs.ErrPermission):
		return "", errors.New("cannot be read by this user")
	case err != nil:
		return "", errors.New("cannot be opened")
	}
	defer func() { _ = f.Close() }() // opened only for reading
	content, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	switch {
	case err != nil:
		return "", errors.New("cannot be read: it must be a regular file")
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("is larger than %d KiB", maxSecretFile>>10)
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if strings.TrimSpace(secret) == "" {
		return "", errors.New("is empty")
	}
	return secret, nil
}
