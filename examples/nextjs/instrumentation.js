export async function register() {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { createProcessor } = await import('hookbox');
    const { sqliteInbox } = await import('hookbox/sqlite');
    const { keepOrder } = await import('./lib/orders.js');
    const worker = createProcessor({
      inbox: sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db'),
      handlers: { 'order.created': keepOrder, '*': (event) => console.log('handled', event.id) },
    });
    await worker.start();
    process.once('SIGTERM', () => worker.close().then(() => process.exit()));
  }
}
