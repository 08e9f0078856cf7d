package cli

import _ "gocloud.dev/blob/s3blob" // s3://
