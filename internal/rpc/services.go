package rpc

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Services are the services whose unary calls travel over streams.
type Services struct {
	stream  string // the gRPC service of the streams
	methods map[string]*method
}

// method is a unary call of a service.
type method struct {
	path       []byte // as gRPC names it: /package.Service/Method
	service    string
	desc       *grpc.MethodDesc
	idempotent bool // it may be made again, as its idempotency_level says
}

// NewServices returns services whose calls travel over streams of the gRPC service with a name.
func NewServices(stream string, services ...*grpc.ServiceDesc) *Services {
	s := &Services{stream: stream, methods: map[string]*method{}}
	for _, d := range services {
		for i := range d.Methods {
			m := &d.Methods[i]
			path := "/" + d.ServiceName + "/" + m.MethodName
			// UNKNOWN, the default, stands for a call that must not be made again.
			level := options(d.ServiceName, m.MethodName).GetIdempotencyLevel()
			s.methods[path] = &method{[]byte(path), d.ServiceName, m, level != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN}
		}
	}
	return s
}

// options returns the options of a call in its .proto file.
func options(service, name string) *descriptorpb.MethodOptions {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service).Append(protoreflect.Name(name)))
	if err != nil {
		panic(err) // the generated code registers all methods
	}
	return d.Options().(*descriptorpb.MethodOptions)
}

// Register makes a gRPC server take calls over streams too. servers answer them, by the names of their services.
func (s *Services) Register(r grpc.ServiceRegistrar, servers map[string]any) {
	l := &streamServer{s, servers}
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: s.stream, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: streamName, Handler: l.serve, ClientStreams: true, ServerStreams: true}},
	}, l)
}
