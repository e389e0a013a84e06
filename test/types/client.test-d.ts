import { describe, expectTypeOf, it } from 'vitest';
import type * as client from '../../src/client/index.ts';
import type { Input, OperationName, Result } from '../../src/sandbox/service-operations.ts';

type Answered<Name extends OperationName> = Awaited<ReturnType<client.Client[Name]>>['data'];

describe('the client and the sandbox', () => {
  it('agree on what each operation returns', () => {
    expectTypeOf<Result<'createCart'>['data']>().toExtend<Answered<'createCart'>>();
    expectTypeOf<Result<'getCart'>['data']>().toExtend<Answered<'getCart'>>();
    expectTypeOf<Result<'updateCart'>['data']>().toExtend<Answered<'updateCart'>>();
    expectTypeOf<Result<'addCartItem'>['data']>().toExtend<Answered<'addCartItem'>>();
    expectTypeOf<Result<'updateCartItem'>['data']>().toExtend<Answered<'updateCartItem'>>();
    expectTypeOf<Result<'createOrder'>['data']>().toExtend<Answered<'createOrder'>>();
    expectTypeOf<Result<'submitOrder'>['data']>().toExtend<Answered<'submitOrder'>>();
    expectTypeOf<Result<'createSetupIntent'>['data']>().toExtend<Answered<'createSetupIntent'>>();
    expectTypeOf<Result<'listPaymentMethods'>['data']>().toExtend<Answered<'listPaymentMethods'>>();
    expectTypeOf<Result<'listMerchants'>['data']>().toExtend<Answered<'listMerchants'>>();
    expectTypeOf<Result<'getCategory'>['data']>().toExtend<Answered<'getCategory'>>();
  });

  it('agree on what they are sent', () => {
    expectTypeOf<Required<client.NewCart>>().toExtend<Input<'createCart'>['body']>();
    expectTypeOf<client.NewCartItem>().toExtend<Input<'addCartItem'>['body']>();
    expectTypeOf<client.NewOrder['items'][number]>().toExtend<Input<'createOrder'>['body']['items'][number]>();
  });
});
