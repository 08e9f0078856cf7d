package fetch

func (x *run) write() error {
	return &Error{Code: CodeUnsupported, Msg: "writing is not there yet"}
}
