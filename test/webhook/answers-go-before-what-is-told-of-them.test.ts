import type { ServerResponse } from 'node:http';
import express from 'express';
import request from 'supertest';
import { expect, test } from 'vitest';
import type { Judgement } from '../../src/webhook/judgement.ts';
import { denyBadReview } from '../../src/decision/decide.ts';
import { createAdmissionApp } from '../../src/webhook/admission-app.ts';
import { memoryLog } from '../support/log.ts';
import { reviewBody } from '../support/review.ts';

test('reviews that can be answered in the same turn are answered before one of them is told of', async () => {
  const REVIEWS = 3;
  const responses: ServerResponse[] = [];
  const answeredWhenTold: number[] = [];
  const waiting: ((judgement: Judgement) => void)[] = [];
  const webhook = createAdmissionApp({
    log: memoryLog().log,
    draining: () => false,
    onDecision: () => {
      answeredWhenTold.push(responses.filter(({ headersSent }) => headersSent).length);
    },
    judge: {
      judge: async () =>
        await new Promise((resolve) => {
          waiting.push(resolve);
          if (waiting.length < REVIEWS) return;
          for (const answer of waiting) answer({ verdict: denyBadReview('as good as any'), path: 'index' });
        }),
    },
  });
  const app = express()
    .use((_request, response, next) => {
      responses.push(response);
      next();
    })
    .use(webhook);
  const ask = async () =>
    await request(app).post('/validate').set('content-type', 'application/json').send(JSON.stringify(reviewBody()));
  await Promise.all(Array.from({ length: REVIEWS }, ask));
  expect(answeredWhenTold).toEqual([REVIEWS, REVIEWS, REVIEWS]);
});
