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

// fileSuffix ends the name of a variable that names a file with a secret.
const fileSuffix = "_FILE"

// maxSecretFile limits the size of such a file, in bytes.
const maxSecretFile = 64 << 10

// secretNames returns the names, without the prefix, of the settings that can come from a file.
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

// readSecretFiles sets each secret whose variable with the suffix _FILE names a file. It returns the problems.
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

// readSecretFile returns the content of a file without the newline at its end. Its errors continue a sentence about the file.
func readSecretFile(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // the operator names it
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("does not exist")
	case errors.Is(err, fs.ErrPermission):
		return "", errors.New("cannot be read by this user")
	case err != nil:
		return "", errors.New("cannot be opened")
	}
	defer func() { _ = f.Close() }() // a file opened for reading has no data to lose
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
