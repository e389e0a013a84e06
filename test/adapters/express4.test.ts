// @module-tag long
import { requirePart } from '../helpers/parts.ts';
import { testExpress } from './conformance-express.ts';
import type { ExpressModule } from './express-app.ts';

testExpress('Express 4', () => requirePart('express4') as ExpressModule);
