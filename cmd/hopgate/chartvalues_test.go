package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/config"
)

// takes reports whether a schema takes a value, by the words that the chart's schema uses for settings.
func takes(t *testing.T, all map[string]map[string]any, schema map[string]any, v any) bool {
	for word, arg := range schema {
		ok := true
		switch word {
		case "description":
		case "$ref":
			ok = takes(t, all, all[strings.TrimPrefix(arg.(string), "#/definitions/")], v)
		case "anyOf":
			ok = slices.ContainsFunc(arg.([]any), func(s any) bool { return takes(t, all, s.(map[string]any), v) })
		case "allOf":
			ok = !slices.ContainsFunc(arg.([]any), func(s any) bool { return !takes(t, all, s.(map[string]any), v) })
		case "const":
			ok = v == arg
		case "enum":
			ok = slices.Contains(arg.([]any), v)
		case "type":
			kind := map[string]string{"string": "string", "bool": "boolean", "float64": "integer"}[fmt.Sprintf("%T", v)]
			ok = arg == kind
			if kinds, many := arg.([]any); many {
				ok = slices.Contains(kinds, any(kind))
			}
		case "pattern":
			s, text := v.(string)
			ok = !text || regexp.MustCompile(arg.(string)).MatchString(s)
		case "minLength":
			s, text := v.(string)
			ok = !text || float64(len(s)) >= arg.(float64)
		case "minimum", "maximum":
			n, number := v.(float64)
			ok = !number || word == "minimum" && n >= arg.(float64) || word == "maximum" && n <= arg.(float64)
		default:
			require.Fail(t, "the test does not know "+word)
		}
		if !ok {
			return false
		}
	}
	return true
}

// What the chart's schema takes for a setting, the server takes too: a pod does not end for a wrong value. Both take the default, in
// the form of hopgate config.
func TestChartSettingValues(t *testing.T) {
	data, err := os.ReadFile(chart + "/values.schema.json")
	require.NoError(t, err)
	var schema struct{ Definitions map[string]map[string]any }
	require.NoError(t, json.Unmarshal(data, &schema))
	values := []any{
		"", " ", "0", "1", "-1", "x", "true", "1.5", "*", "a b", "%", ",", ":", "1e3", "info", "INFO", "warning", "warn", "json", "logfmt", "block", "none", "required", "optional", "5.26.0", "5",
		"10s", "10", "1h30m", "1d", "0s", "-1s", "99999h", "999999h", "10 s", "512MiB", "2Gi", "2GB", "1.5GiB", "1 GiB", "GiB", "-1GiB", "999999TiB", "9999999TiB", "123456789GiB", "999999999999999",
		"queries=50%", "queries=150%", "queries=5,memory=1GiB,requests=10,bytes=1MiB", "memory=1Gi", "speed=1", "queries", "queries=50%,",
		"graphs.example.com", "*.example.com", "a.example.com,b.example.com", "https://a.example.com", "https://a.example.com,http://b.example.com:8080", "https://a.example.com/path", "//a", "a:8080", ":7687", "a:99999",
		"http://localhost:4317", "https://collector:4317/v1", "http://", "localhost:4317", "srv:_bolt._tcp.a.svc.cluster.local",
		float64(0), float64(1), float64(-1), float64(16), float64(1024), float64(1025), float64(100_000_000), float64(1 << 31), true, false,
	}
	// Of these, templates compare values with others or with bounds.
	compared := []string{"memory", "valueThreshold", "maxRequest", "queryTimeout", "maxTimeout", "adminTls", "oidcIssuer", "replication"}
	path := filepath.Join(t.TempDir(), "config.yaml")
	defaults := settingKeys(t)
	taken := 0
	for key, s := range schema.Definitions["settings"]["properties"].(map[string]any) {
		of := s.(map[string]any)
		v := defaults[key]
		if n, ok := v.(int); ok {
			v = float64(n)
		}
		require.True(t, takes(t, schema.Definitions, of, v), "the schema refuses %s: %v", key, v)
		if slices.Contains(compared, key) {
			continue
		}
		for _, v := range values {
			if !takes(t, schema.Definitions, of, v) {
				continue
			}
			taken++
			text, err := json.Marshal(map[string]any{key: v})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, text, 0o600))
			_, err = config.Load(pflag.NewFlagSet("", pflag.ContinueOnError), []string{"HOPGATE_CONFIG=" + path})
			require.NoError(t, err, "%s: %v", key, v)
		}
	}
	require.Greater(t, taken, 500)
}
