/** Every export path that a project without frameworks can import, with all of its types. */
export * as core from 'hookbox';
export * as awsLambda from 'hookbox/aws-lambda';
export * as client from 'hookbox/client';
export * as express from 'hookbox/express';
export * as fetch from 'hookbox/fetch';
export * as memory from 'hookbox/memory';
export * as node from 'hookbox/node';
export * as ops from 'hookbox/ops';
export * as opsPage from 'hookbox/ops/page';
export * as postgres from 'hookbox/postgres';
export * as sandbox from 'hookbox/sandbox';
export * as sandboxPage from 'hookbox/sandbox/page';
export * as sqlite from 'hookbox/sqlite';
export * as testing from 'hookbox/testing';
