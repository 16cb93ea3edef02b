package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestCgroupMemoryLimit checks that the lowest limit that applies to the process is found, for both versions of
// cgroups.
func TestCgroupMemoryLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroups":               {nil, 0},
		"a container":              {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"no limit":                 {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"a service":                {map[string]string{"proc/self/cgroup": "0::/system.slice/a.service\n", "sys/fs/cgroup/system.slice/a.service/memory.max": "4096"}, 4096},
		"a limit of the parent":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "9000", "sys/fs/cgroup/a/memory.max": "8000"}, 8000},
		"version 1":                {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "7000"}, 7000},
		"version 1 in a namespace": {map[string]string{"proc/self/cgroup": "4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "6000"}, 6000},
		"version 1 without":        {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 0},
		"unreadable":               {map[string]string{"proc/self/cgroup": "x\n0\n0::\n", "sys/fs/cgroup/memory.max": "-1"}, 0},
	} {
		root := fstest.MapFS{}
		for path, text := range tt.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		require.Equal(t, tt.want, cgroupMemoryLimit(root), name)
	}
}
