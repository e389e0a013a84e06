// @module-tag dear
import express from 'express';
import { testExpress } from './conformance-express.ts';

testExpress('Express 5', () => express);
