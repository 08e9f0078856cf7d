package wire

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
)

// Services are those whose calls travel over streams.
var Services = rpc.NewServices("hopgate.shard.v1.ConnectionService",
	&pb.ReadService_ServiceDesc, &pb.KeepService_ServiceDesc, &pb.LeadService_ServiceDesc)

// ReadPrefix begins the names that gRPC gives to the calls of ReadService.
var ReadPrefix = "/" + pb.ReadService_ServiceDesc.ServiceName + "/"

// Batches is how calls of ReadService travel as one.
var Batches = rpc.BatchForm{
	Method: pb.ReadService_Batch_FullMethodName,
	Pack: func(method string, calls [][]byte) (in, out proto.Message) {
		return &pb.BatchRequest{Method: method, Requests: calls}, &pb.BatchResponse{}
	},
	Answers: func(out proto.Message) []rpc.Answer {
		answers := out.(*pb.BatchResponse).GetAnswers()
		all := make([]rpc.Answer, len(answers))
		for i, a := range answers {
			all[i] = rpc.Answer{Body: a.GetMessage(), Failed: a.GetFailed()}
		}
		return all
	},
}
