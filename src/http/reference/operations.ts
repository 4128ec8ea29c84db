import type { OpenApiDocument, Operation } from './openapi-types.ts';

export interface ListedOperation extends Operation {
  method: 'get' | 'post';
  path: string;
}

export function operationsOf({ paths }: OpenApiDocument): ListedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method as ListedOperation['method'],
    })),
  );
}
