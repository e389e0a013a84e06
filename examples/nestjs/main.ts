import 'reflect-metadata';
import { All, Controller, Module, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/node';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
const handle = webhookHandler(receiver);

@Controller('webhooks')
class WebhooksController {
  @All()
  take(@Req() request: IncomingMessage, @Res() response: ServerResponse): Promise<void> {
    return handle(request, response);
  }
}

@Module({ controllers: [WebhooksController] })
class AppModule {}

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true });
  app.useBodyParser('json', { limit: '1mb' });
  await app.listen(process.env.PORT ?? 3000);
}
void bootstrap();
