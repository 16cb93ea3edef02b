package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm/countersign"

// given returns the values that a chart requires, overridden with values in YAML.
func given(t *testing.T, over string) map[string]any {
	t.Helper()
	values, err := readValues(chartDir + "/ci/example-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var more map[string]any
	if err := yaml.Unmarshal([]byte(over), &more); err != nil {
		t.Fatal(err)
	}
	for name, value := range more {
		if section, ok := value.(map[string]any); ok && values[name] != nil {
			maps.Copy(values[name].(map[string]any), section)
			continue
		}
		values[name] = value
	}
	return values
}

// TestChart_RequiredValues checks that the error for a missing value contains its name and a description.
func TestChart_RequiredValues(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{
		"image: {repository: ''}":                 "image.repository must be set: the registry and name of the image",
		"settings: {BASE_URL: null}":              "settings.BASE_URL must be set: the public address",
		"secrets: {existingSecret: ''}":           "secrets.existingSecret must be set: the Secret with COUNTERSIGN_MASTER_KEY",
		"seal: {existingSecret: ''}":              "seal.existingSecret must be set: the Secret with seal.key",
		"settings: {BASE_ULR: https://x.example}": "BASE_ULR",
		"settings: {MASTER_KEY: secret}":          "MASTER_KEY",
		"api: {replicas: none}":                   "replicas",
		"replicas: 3":                             "replicas",
	} {
		if _, err := render(chartDir, given(t, over)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", over, err)
		}
	}
	if _, err := render(chartDir, given(t, "seal: {existingSecret: ''}\nsettings: {SEAL_KEY: 'pkcs11:token=seal'}")); err != nil {
		t.Errorf("a key in a hardware module must not require a Secret: %v", err)
	}
}

// TestChart_EverythingSet checks that the API server accepts the objects that are rendered if all values are set.
func TestChart_EverythingSet(t *testing.T) {
	t.Parallel()
	rendered, err := render(chartDir, given(t, `
image: {digest: "sha256:`+strings.Repeat("a", 64)+`", pullPolicy: Always}
imagePullSecrets: [registry]
fullnameOverride: signing
settings: {RATE_LIMIT: 1200, UPLOAD_LIMIT: 104857600, WEBHOOK_ALLOW_PRIVATE: false, REMINDER_INTERVAL: 0}
files: {existingConfigMap: trust, existingSecret: temporal}
extraEnv: [{name: AWS_REGION, value: eu-central-1}]
extraEnvFrom: [{secretRef: {name: bucket}}]
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:x"}}
api: {autoscaling: {enabled: true}, spread: "", nodeSelector: {disk: ssd}, tolerations: [{operator: Exists}], affinity: {nodeAffinity: {}}, priorityClassName: high, podLabels: {a: b}, podAnnotations: {c: d}}
worker: {autoscaling: {enabled: false}, replicas: 5, spread: DoNotSchedule}
service: {type: LoadBalancer, annotations: {e: f}}
ingress: {className: nginx, host: other.example.com, tlsSecret: ""}
networkPolicy: {egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(rendered)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, rendered)
	}
	for _, check := range []func([]any) error{deployments, serviceLinks, readiness, ingresses} {
		if err := check(objects); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{
		"countersign@sha256:aaaa", `COUNTERSIGN_UPLOAD_LIMIT: "104857600"`, `COUNTERSIGN_WEBHOOK_ALLOW_PRIVATE: "false"`, `COUNTERSIGN_REMINDER_INTERVAL: "0"`,
		`{name: COUNTERSIGN_RATE_LIMIT, value: "1200"}`, "mountPath: /etc/countersign", "whenUnsatisfiable: DoNotSchedule", "host: other.example.com", "policyTypes: [Ingress, Egress]",
	} {
		if !strings.Contains(string(rendered), want) {
			t.Errorf("no %s in:\n%s", want, rendered)
		}
	}
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok && d.Name == "signing-worker" && (d.Spec.Replicas == nil || *d.Spec.Replicas != 5) {
			t.Error("the worker's replicas")
		}
	}
}

// TestChart_EverySettingIsAValue checks that every setting is a chart value, and that every secret is documented next
// to secrets.existingSecret.
func TestChart_EverySettingIsAValue(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile("../../config/config.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(chartDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile("(?m)^\\t\\w+ +(\\S+) +`env:\"([A-Z_]+)\"").FindAllStringSubmatch(string(config), -1)
	if len(fields) < 60 {
		t.Fatalf("%d settings", len(fields))
	}
	var settings []string
	for _, f := range fields {
		settings = append(settings, f[2])
		switch isValue := strings.Contains(string(text), "\n  "+f[2]+": "); {
		case f[1] == "Secret" && isValue:
			t.Errorf("%s is a secret and must not be a chart value", f[2])
		case f[1] == "Secret" && !strings.Contains(string(text), "COUNTERSIGN_"+f[2]):
			t.Errorf("%s is not documented next to secrets.existingSecret", f[2])
		case f[1] != "Secret" && (!isValue || !strings.Contains(string(schema), `"`+f[2]+`"`)):
			t.Errorf("%s is not a chart value, or is missing from the schema", f[2])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([A-Z_]+): `).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(settings, m[1]) {
			t.Errorf("%s is not a setting", m[1])
		}
	}
}

// TestChart_ManifestsFollow checks that manifests that differ from the chart's output are detected.
func TestChart_ManifestsFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	file := dir + "/helm/countersign/values.yaml"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(b), "replicas: 2", "replicas: 3", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chart(dir); err == nil || !strings.Contains(err.Error(), "make manifests") {
		t.Error(err)
	}
	if err := writeManifests(dir); err != nil {
		t.Fatal(err)
	}
	if err := chart(dir); err != nil {
		t.Error(err)
	}
}

// TestChart_CommandOfInstall checks that the command on the installation page sets all values that the chart
// requires.
func TestChart_CommandOfInstall(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/run/install.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	set := regexp.MustCompile(`--set ('[^']+'|\S+='[^']+'|\S+)`).FindAllStringSubmatch(string(page), -1)
	for _, m := range set {
		if err := strvals.ParseInto(strings.ReplaceAll(m[1], "'", ""), values); err != nil {
			t.Fatal(m[1], err)
		}
	}
	rendered, err := render(chartDir, values)
	if err != nil || len(set) < 8 {
		t.Fatal(len(set), err)
	}
	if _, err := decode(rendered); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"registry.example.com/countersign:1.0", "COUNTERSIGN_FIRST_APP: \"Example Ltd\"", "s3://countersign?region=eu-central-1"} {
		if !strings.Contains(string(rendered), want) {
			t.Errorf("no %s", want)
		}
	}
}
