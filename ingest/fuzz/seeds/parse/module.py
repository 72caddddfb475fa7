from __future__ import annotations
from .a import b as c, (d)
import os.path, requests
@dec(x=1)
class A(B, metaclass=M):
    '''doc'''
    async def f(self, *a: int, k=None, **kw) -> str:
        with open(f'{a!r:>{k}}') as h, g(): return await self.f(*[x for x in a if x], **{**kw})
requests.get('https://api.stripe.com/v1/charges', params={'a': 1}).json()['data']
if (n := 1): match n:
  case {'a': [x, *_]}: pass
