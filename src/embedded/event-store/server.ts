/**
 * The gRPC server: its calls, and how it starts and stops. Other calls are answered with UNIMPLEMENTED.
 */

import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossipMessages, { type ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import featureServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import featureMessages, { type SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import sharedMessages from '@eventstore/db-client/generated/shared_pb.js';
import streamServices from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { BatchAppendReq, BatchAppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type sendUnaryData,
  Server,
  status,
} from '@grpc/grpc-js';
import { withDeadline } from '../../async/deadline.ts';
import { append, softDelete, tombstone } from './append-service.ts';
import { batchAppend } from './batch-append-service.ts';
import type { EndOfCatchUp } from './checkpoints.ts';
import { EventLog } from './event-log.ts';
import { GroupCommit } from './group-commit.ts';
import { HOST, listen, type Listener } from './listen.ts';
import { backUp, backupService } from './online-backup.ts';
import { read } from './read-service.ts';
import { rpcError } from './wire-errors.ts';

/** The version whose protocol and answers this server reproduces. */
const protocolVersion = '24.2.0';

/** The real server takes messages of up to 16 MiB; the official client cuts its appends at 3 MiB. */
const maxMessageBytes = 17 * 1024 * 1024;

const stopGraceMs = 2000;

/** @param port 0 for any that is free. @throws {StartRefused} as `listen` does */
export async function startServer(options: {
  database: DatabaseSync;
  port: number;
  /** The form of checkpoint that ends a catch-up. Default: that of 24.2.0. */
  endOfCatchUp?: EndOfCatchUp;
  onFailure: (error: unknown) => void;
}) {
  const log = new EventLog(options.database);
  const commits = new GroupCommit(options.database, options.onFailure);
  const openCalls = new Set<EventEmitter>();
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
  });
  const writes = { log, commits };
  const subscriptions = { log, commits, endOfCatchUp: options.endOfCatchUp ?? 'last-event' };
  const readCall: handleServerStreamingCall<ReadReq, ReadResp> = (call) => read(subscriptions, track(openCalls, call));
  const batchCall: handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> = (call) =>
    batchAppend(writes, track(openCalls, call));
  server.addService(streamServices.StreamsService, {
    read: readCall,
    append: append.bind(undefined, writes),
    batchAppend: batchCall,
    delete: softDelete.bind(undefined, writes),
    tombstone: tombstone.bind(undefined, writes),
  });
  server.addService(featureServices.ServerFeaturesService, {
    getSupportedMethods: (_call: unknown, callback: sendUnaryData<SupportedMethods>) =>
      callback(null, supportedMethods()),
  });
  server.addService(backupService, { backUp: backUp.bind(undefined, options.database) });
  const instanceId = randomUUID();
  let port = 0;
  server.addService(gossipServices.GossipService, {
    read: (_call: unknown, callback: sendUnaryData<ClusterInfo>) => callback(null, clusterOfOne(instanceId, port)),
  });
  const listener = await listen(server, options.port);
  port = listener.port;
  return { port, stop: () => stop(server, listener, commits, openCalls) };
}

function track<Call extends EventEmitter>(calls: Set<EventEmitter>, call: Call): Call {
  calls.add(call);
  for (const event of ['close', 'finish', 'cancelled']) call.on(event, () => calls.delete(call));
  return call;
}

/** Answers the appends that have arrived and ends open calls. Fulfilled when nothing is left. */
async function stop(
  server: Server,
  listener: Listener,
  commits: GroupCommit,
  openCalls: Set<EventEmitter>,
): Promise<void> {
  // gRPC does not own the sockets, on which calls may still end after it has closed its sessions.
  const closed = Promise.all([listener.close(), new Promise<void>((resolve) => server.tryShutdown(() => resolve()))]);
  await commits.drain();
  for (const call of openCalls) call.emit('error', rpcError(status.UNAVAILABLE, 'The event store is shutting down.'));
  await withDeadline(closed, stopGraceMs, () => server.forceShutdown());
  await closed;
  await commits.drain();
}

/** The official client asks this first, and appends in batches only where they are listed. */
function supportedMethods(): SupportedMethods {
  const supported = new featureMessages.SupportedMethods().setEventStoreServerVersion(protocolVersion);
  const services = [streamServices.StreamsService, featureServices.ServerFeaturesService, gossipServices.GossipService];
  for (const { path } of services.flatMap((service) => Object.values(service) as { path: string }[])) {
    const [, serviceName = '', methodName = ''] = path.split('/');
    const method = new featureMessages.SupportedMethod()
      .setServiceName(serviceName.toLowerCase())
      .setMethodName(methodName.toLowerCase());
    if (path.endsWith('/Read') && serviceName.endsWith('Streams')) method.setFeaturesList(['position', 'events']);
    supported.addMethods(method);
  }
  return supported;
}

/** For connection strings that name a cluster: this server is all of it, and its leader. */
function clusterOfOne(instanceId: string, port: number): ClusterInfo {
  const member = new gossipMessages.MemberInfo()
    .setInstanceId(new sharedMessages.UUID().setString(instanceId))
    .setTimeStamp(String(Date.now() * 10_000))
    .setState(gossipMessages.MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new gossipMessages.EndPoint().setAddress(HOST).setPort(port));
  return new gossipMessages.ClusterInfo().setMembersList([member]);
}
