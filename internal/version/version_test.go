package version

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chart, and with it the image, the packages and the wheels, has the version that the programs print.
func TestNumber(t *testing.T) {
	chart, err := os.ReadFile("../../deploy/helm/hopgate/Chart.yaml")
	require.NoError(t, err)
	for _, key := range []string{"version", "appVersion"} {
		found := regexp.MustCompile(`(?m)^` + key + `: "?([^"\n]*)"?$`).FindSubmatch(chart)
		require.Len(t, found, 2, key)
		require.Equal(t, Number, string(found[1]), key)
	}
}
