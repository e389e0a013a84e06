#!/usr/bin/env node
import './shared/require-node.ts';
import { run } from './program.ts';

await run(process.argv.slice(2));
