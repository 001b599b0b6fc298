async def stress(folder, short):
    return {}, []
