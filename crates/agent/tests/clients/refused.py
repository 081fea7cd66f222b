"""Callers whom a switch with certificates does not answer: ADDRESS FOLDER, and `mutual` if it asks for theirs."""

import sys
from pathlib import Path

import grpc
from finsy.proto import p4r, p4r_grpc

address, folder, *mutual = sys.argv[1:]


def read(name):
    return Path(folder, name).read_bytes()


def answers(channel):
    try:
        p4r_grpc.P4RuntimeStub(channel).Capabilities(p4r.CapabilitiesRequest(), timeout=5)
    except grpc.RpcError as error:
        assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED), error
        return False
    return True


def secure(authority, name=None):
    shown = (read(f"{name}.key"), read(f"{name}.pem")) if name else (None, None)
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(read(authority), *shown))


assert answers(secure("authority.pem", "controller"))
assert not answers(grpc.insecure_channel(address)), "without TLS"
assert not answers(secure("stranger.pem", "controller")), "by who does not trust it"
assert answers(secure("authority.pem")) == (not mutual), "without a certificate"
assert answers(secure("authority.pem", "impostor")) == (not mutual), "with a stranger's certificate"
