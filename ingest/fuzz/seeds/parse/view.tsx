import * as React from 'react';
export default function View<T,>({ a = 1, ...rest }: { a?: number }) { return <A.B {...rest}>{a ?? `x${a}`}<></></A.B>; }
