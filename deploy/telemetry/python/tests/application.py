"""An application: each line that makes a request is marked ``@name``; the tests say which marks the spans must name."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import requests
import stripe


def client(url):
    return stripe.StripeClient("sk_test_123", base_addresses={"api": url}, http_client=stripe.HTTPXClient(), max_network_retries=0)


def stripe_sync(url):
    sdk = stripe.StripeClient("sk_test_123", base_addresses={"api": url}, max_network_retries=0)
    sdk.v1.charges.create(params={"amount": 1, "currency": "usd"})  # @sync
    sdk.v1.charges.create(  # @lines
        params={"amount": 1, "currency": "usd"},
    )
    for _ in sdk.v1.charges.list().auto_paging_iter():  # @second-page
        pass


def stripe_pages_apart(url):
    sdk = stripe.StripeClient("sk_test_123", base_addresses={"api": url}, max_network_retries=0)
    page = sdk.v1.charges.list()  # @first-page
    for _ in page.auto_paging_iter():  # @next-pages
        pass


def plain(url):
    requests.get(url + "/v1/refunds")  # @requests
    httpx.get(url + "/v1/refunds")  # @httpx
    with ThreadPoolExecutor() as pool:
        # The thread runs the package's function: nobody of ours is on its stack.
        pool.submit(requests.get, url + "/v1/refunds").result()
        pool.submit(lambda: requests.get(url + "/v1/refunds")).result()  # @thread


async def awaited(url):
    sdk = client(url)
    await sdk.v1.charges.create_async(params={"amount": 1, "currency": "usd"})  # @await
    pending = sdk.v1.charges.create_async(params={"amount": 2, "currency": "usd"})
    await pending
    await asyncio.wait_for(pass_on(http_get(url)), 5)
    async with httpx.AsyncClient() as http:
        await http.get(url + "/v1/refunds")  # @await-httpx


def http_get(url):
    return httpx.AsyncClient().get(url + "/v1/refunds")


async def pass_on(pending):
    return await pending


async def streamed(url):
    async with httpx.AsyncClient() as http:
        async with http.stream("GET", url + "/v1/refunds") as response:  # @stream
            await response.aread()
    sdk = client(url)
    async for _ in (await sdk.v1.charges.list_async()).auto_paging_iter():  # @async-pages
        pass


async def gathered(url):
    sdk = client(url)
    async with httpx.AsyncClient() as http:
        await asyncio.gather(
            http.get(url + "/v1/first"),  # @gather-first
            http.get(url + "/v1/second"),  # @gather-second
        )
        await asyncio.gather(mine(http, url), mine(http, url))
        made = asyncio.create_task(http.get(url + "/v1/refunds"))  # @task
        await asyncio.sleep(0)
        await made
    await asyncio.gather(
        sdk.v1.charges.create_async(params={"amount": 1, "currency": "usd"}),  # @gather-sdk
    )


async def mine(http, url):
    await http.get(url + "/v1/refunds")  # @own-coroutine


async def hook(url):
    async def ask_too(request):
        if request.url.path == "/v1/hooked":
            await httpx.AsyncClient().get(url + "/v1/in-hook")  # @in-hook

    async with httpx.AsyncClient(event_hooks={"request": [ask_too]}) as http:
        await http.get(url + "/v1/hooked")  # @hooked
