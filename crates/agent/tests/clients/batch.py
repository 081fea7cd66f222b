"""grpcio and p4runtime-shell at their defaults: one bad update among many is reported so that clients can read it.

ADDRESS P4INFO, with a program that runs already."""

import sys
import time

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
from p4runtime_sh.p4runtime import P4RuntimeErrorIterator

address, info = sys.argv[1:]
with open(info) as file:
    info = text_format.Parse(file.read(), p4info_pb2.P4Info())
table = next(t.preamble.id for t in info.tables if t.preamble.name == "MyIngress.route")
action = next(a.preamble.id for a in info.actions if a.preamble.name == "MyIngress.forward")


def update(number, how):
    made = p4runtime_pb2.Update(type=how)
    entry = made.entity.table_entry
    entry.table_id = table
    match = entry.match.add(field_id=1)
    match.lpm.value = bytes([0x0E, 0, 0, 0]) + number.to_bytes(2, "big")
    match.lpm.prefix_len = 48
    entry.action.action.action_id = action
    entry.action.action.params.add(param_id=1, value=b"\x02")
    return made


def request(updates, atomicity=p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR):
    made = p4runtime_pb2.WriteRequest(device_id=1, updates=updates, atomicity=atomicity)
    made.election_id.low = 99
    return made


def refused(stub, *args):
    try:
        stub.Write(request(*args))
    except grpc.RpcError as error:
        return error
    sys.exit("nothing was refused")


def details(error):
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value).details
    sys.exit("there are no details")


channel = grpc.insecure_channel(address)
stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
hello = p4runtime_pb2.StreamMessageRequest()
hello.arbitration.device_id = 1
hello.arbitration.election_id.low = 99
done = False


def said():
    yield hello
    while not done:
        time.sleep(0.05)


heard = stub.StreamChannel(said())
assert next(heard).arbitration.status.code == code_pb2.OK

INSERT, DELETE = p4runtime_pb2.Update.INSERT, p4runtime_pb2.Update.DELETE
for size in (20, 150, 220, 1000):
    for bad in (7, size - 1):
        updates = [update(n, INSERT) for n in range(size)]
        updates[bad] = update(60000, DELETE)
        for atomicity in (
            p4runtime_pb2.WriteRequest.ROLLBACK_ON_ERROR,
            p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR,
        ):
            error = refused(stub, updates, atomicity)
            assert error.code() == grpc.StatusCode.UNKNOWN, (size, bad, error.code(), error.details())
            errors_sent = details(error)
            assert len(errors_sent) == size or f"details of the last {size - len(errors_sent)} are left out" in error.details(), error
            errors = [p4runtime_pb2.Error() for _ in errors_sent]
            assert all(any.Unpack(one) for any, one in zip(errors_sent, errors)), errors_sent
            if all(one.canonical_code != code_pb2.OK for one in errors):
                # p4runtime-shell reads a detail that says OK for ever.
                assert [one for _, one in P4RuntimeErrorIterator(error)] == errors
            failed = [index for index, one in enumerate(errors) if one.canonical_code == code_pb2.NOT_FOUND]
            assert failed == ([bad] if bad < len(errors_sent) else []), (size, bad, failed)
        stub.Write(request([update(n, DELETE) for n in range(size) if n != bad]))
done = True
