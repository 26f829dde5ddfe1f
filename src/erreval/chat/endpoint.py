"""An OpenAI-compatible endpoint, named by the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from erreval.errors import ErrevalError


@dataclass(frozen=True)
class Endpoint:
    """Where chat models are served; the key never shows in a repr or a message."""

    base_url: str
    key: str = field(repr=False)


def endpoint_from_environment() -> Endpoint | None:
    """The endpoint of OPENAI_BASE_URL and OPENAI_API_KEY, or None where neither is set.

    A local server often wants no key; then any text will do, and none is asked for.
    """
    url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if not url and not key:
        return None
    return Endpoint(url or "https://api.openai.com/v1", key or "none")


def list_models(endpoint: Endpoint, seconds: float = 5.0) -> list[str]:
    """The models that the endpoint offers, by name.

    Raises:
        ErrevalError: It cannot be reached, refuses the key, or speaks another protocol.
    """
    import openai

    client = openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.key, timeout=seconds, max_retries=0)
    try:
        return sorted(model.id for model in client.models.list())
    except openai.AuthenticationError as error:
        raise ErrevalError(f"{endpoint.base_url} refuses the key") from error
    except openai.APIConnectionError as error:
        raise ErrevalError(f"{endpoint.base_url} cannot be reached") from error
    except openai.OpenAIError as error:
        raise ErrevalError(f"{endpoint.base_url} answers with {type(error).__name__}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ErrevalError(f"{endpoint.base_url} speaks another protocol") from error
    finally:
        client.close()
