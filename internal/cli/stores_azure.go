//go:build azure

package cli

import _ "gocloud.dev/blob/azureblob" // azblob://
